package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// selection is the rows of a file that are clustered where others are left out (--missing drop). A
// coordinator only ever sees those that are kept; the files that people read and write speak of the rows
// of the data file. nil keeps all rows.
type selection struct {
	kept  []int32 // their rows in the file, in ascending order
	place []int32 // of each row of the file among those kept, or dropped

	incomplete, zero            int // why rows were left out
	constraints, seeds, beliefs int // left out with them
}

// dropped is the place, and in labels.csv the label, of a row that was left out.
const dropped = -1

// newSelection keeps the rows of data that can be clustered, which lacks the incomplete rows of its file
// already: where directions are compared, those that have one.
func newSelection(data dataset.Dataset, incomplete []int32, directions bool) *selection {
	s := &selection{place: make([]int32, data.Rows()+len(incomplete)), incomplete: len(incomplete)}
	for _, row := range incomplete {
		s.place[row] = dropped
	}
	at := -1 // the row of data
	for row := range s.place {
		if s.place[row] == dropped {
			continue
		}
		if at++; directions && allZero(data, at) {
			s.place[row] = dropped
			s.zero++
			continue
		}
		s.place[row] = int32(len(s.kept))
		s.kept = append(s.kept, int32(row))
	}
	return s
}

// String tells what was left out.
func (s *selection) String() string {
	var why, with []string
	count := func(list *[]string, n int, singular, rest string) {
		if n > 0 {
			*list = append(*list, plural(n, singular)+rest)
		}
	}
	count(&why, s.incomplete, "row", " with missing values")
	count(&why, s.zero, "row", " of zeros, without a direction")
	count(&with, s.constraints, "constraint", "")
	count(&with, s.seeds, "seed", "")
	count(&with, s.beliefs, "belief", "")
	text := fmt.Sprintf("left out of %s: %s", plural(len(s.place), "row"), strings.Join(why, ", "))
	if len(with) > 0 {
		text += "; and with them " + strings.Join(with, " and ")
	}
	return text
}

// rows is the number of rows of the file of which so many are kept.
func (s *selection) rows(kept int) int {
	if s == nil {
		return kept
	}
	return len(s.place)
}

// keeps tells whether a row of the file is kept.
func (s *selection) keeps(row int) bool { return s == nil || s.place[row] != dropped }

// spec makes a spec that speaks of the rows of the file speak of those that are kept, and leaves out what
// it says of the others.
func (s *selection) spec(spec *cleavev1.JobSpec) (err error) {
	if s == nil {
		return nil
	}
	if given := spec.GetSupervision(); given != nil {
		constraints, seeds := len(given.Constraints), len(given.Seeds)
		given.Constraints, err = filtered(given.Constraints, func(c *cleavev1.Constraint) (bool, error) { return s.all(&c.I, &c.J) })
		if err != nil {
			return err
		}
		given.Seeds, err = filtered(given.Seeds, func(seed *cleavev1.Seed) (bool, error) { return s.all(&seed.Index) })
		if err != nil {
			return err
		}
		s.constraints, s.seeds = constraints-len(given.Constraints), seeds-len(given.Seeds)
	}
	if start := spec.GetInitialization(); start != nil {
		if start.Labels, err = picked(s, start.Labels, "labels to start from"); err != nil {
			return err
		}
	}
	if options := spec.GetKernelKmeans(); options != nil {
		options.Weights, err = picked(s, options.Weights, "weights")
	}
	if options := spec.GetConstrainedSpectral(); options != nil {
		beliefs := len(options.Beliefs)
		options.Beliefs, err = filtered(options.Beliefs, func(b *cleavev1.Belief) (bool, error) { return s.all(&b.I, &b.J) })
		s.beliefs = beliefs - len(options.Beliefs)
	}
	return err
}

// all replaces rows by their places, and tells whether all of them are kept.
func (s *selection) all(rows ...*uint32) (bool, error) {
	for _, row := range rows {
		if int64(*row) >= int64(len(s.place)) {
			return false, fault.Invalid("INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", *row, len(s.place)-1)
		}
		if s.place[*row] == dropped {
			return false, nil
		}
		*row = uint32(s.place[*row])
	}
	return true, nil
}

func filtered[T any](items []T, keep func(T) (bool, error)) ([]T, error) {
	var err error
	return slices.DeleteFunc(items, func(item T) bool {
		if err != nil {
			return false
		}
		var kept bool
		kept, err = keep(item)
		return !kept && err == nil
	}), err
}

// picked are the values of the rows that are kept; no values stay none.
func picked[T any](s *selection, values []T, what string) ([]T, error) {
	if s == nil || len(values) == 0 {
		return values, nil
	}
	if len(values) != len(s.place) {
		return nil, fault.Invalid("SIZE_MISMATCH", "there are %d %s for %s", len(values), what, plural(len(s.place), "row"))
	}
	few := make([]T, len(s.kept))
	for at, row := range s.kept {
		few[at] = values[row]
	}
	return few, nil
}

// truth is the truth about the rows that are kept.
func (s *selection) truth(t *truth) (*truth, error) {
	if s == nil || t == nil {
		return t, nil
	}
	labels, err := picked(s, t.labels, "true labels")
	few := &truth{labels: labels}
	for _, row := range t.scoreOn {
		if s.keeps(int(row)) {
			few.scoreOn = append(few.scoreOn, s.place[row])
		}
	}
	if err == nil && len(t.scoreOn) > 0 && len(few.scoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "all points that --score-on names were left out")
	}
	return few, err
}

// restore is the way back: a label for each row of the file.
func (s *selection) restore(labels []int32) []int32 {
	if s == nil {
		return labels
	}
	all := slices.Repeat([]int32{dropped}, len(s.place))
	for at, row := range s.kept {
		all[row] = labels[at]
	}
	return all
}
