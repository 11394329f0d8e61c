package jobflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// RowFilter is the rows of a file that are clustered where others are left out (--missing drop). A
// coordinator only ever sees those that are kept; the files that people read and write speak of the rows
// of the data file. nil keeps all rows.
type RowFilter struct {
	Kept     []int32 // their rows in the file, in ascending order
	position []int32 // of each row of the file among those kept, or dropped

	incomplete, zero            int // why rows were left out
	constraints, seeds, beliefs int // left out with them
}

// droppedRow is the place, and in labels.csv the label, of a row that was left out.
const droppedRow = -1

// newRowFilter keeps the rows of data that can be clustered, which lacks the incomplete rows of its file
// already: where directions are compared, those that have one.
func newRowFilter(data dataset.Dataset, incomplete []int32, directions bool) *RowFilter {
	s := &RowFilter{position: make([]int32, data.Rows()+len(incomplete)), incomplete: len(incomplete)}
	for _, row := range incomplete {
		s.position[row] = droppedRow
	}
	at := -1 // the row of data
	for row := range s.position {
		if s.position[row] == droppedRow {
			continue
		}
		if at++; directions && allZero(data, at) {
			s.position[row] = droppedRow
			s.zero++
			continue
		}
		s.position[row] = int32(len(s.Kept))
		s.Kept = append(s.Kept, int32(row))
	}
	return s
}

// String tells what was left out.
func (s *RowFilter) String() string {
	var why, with []string
	count := func(list *[]string, n int, singular, rest string) {
		if n > 0 {
			*list = append(*list, shell.Plural(n, singular)+rest)
		}
	}
	count(&why, s.incomplete, "row", " with missing values")
	count(&why, s.zero, "row", " of zeros, without a direction")
	count(&with, s.constraints, "constraint", "")
	count(&with, s.seeds, "seed", "")
	count(&with, s.beliefs, "belief", "")
	text := fmt.Sprintf("left out of %s: %s", shell.Plural(len(s.position), "row"), strings.Join(why, ", "))
	if len(with) > 0 {
		text += "; and with them " + strings.Join(with, " and ")
	}
	return text
}

// FileRows is the number of rows of the file of which so many are kept.
func (s *RowFilter) FileRows(kept int) int {
	if s == nil {
		return kept
	}
	return len(s.position)
}

// Dropped is the number of rows that were left out.
func (s *RowFilter) Dropped() int { return len(s.position) - len(s.Kept) }

// keeps tells whether a row of the file is kept.
func (s *RowFilter) keeps(row int) bool { return s == nil || s.position[row] != droppedRow }

// Apply makes a spec that speaks of the rows of the file speak of those that are kept, and leaves out what
// it says of the others.
func (s *RowFilter) Apply(spec *cleavev1.JobSpec) (err error) {
	if s == nil {
		return nil
	}
	if given := spec.GetSupervision(); given != nil {
		constraints, seeds := len(given.Constraints), len(given.Seeds)
		given.Constraints, err = filterItems(given.Constraints, func(c *cleavev1.Constraint) (bool, error) { return s.translate(&c.I, &c.J) })
		if err != nil {
			return err
		}
		given.Seeds, err = filterItems(given.Seeds, func(seed *cleavev1.Seed) (bool, error) { return s.translate(&seed.Index) })
		if err != nil {
			return err
		}
		s.constraints, s.seeds = constraints-len(given.Constraints), seeds-len(given.Seeds)
	}
	if start := spec.GetInitialization(); start != nil {
		if start.Labels, err = keptValues(s, start.Labels, "labels to start from"); err != nil {
			return err
		}
	}
	if options := spec.GetKernelKmeans(); options != nil {
		options.Weights, err = keptValues(s, options.Weights, "weights")
	}
	if options := spec.GetConstrainedSpectral(); options != nil {
		beliefs := len(options.Beliefs)
		options.Beliefs, err = filterItems(options.Beliefs, func(b *cleavev1.Belief) (bool, error) { return s.translate(&b.I, &b.J) })
		s.beliefs = beliefs - len(options.Beliefs)
	}
	return err
}

// translate replaces rows by their places, and tells whether all of them are kept.
func (s *RowFilter) translate(rows ...*uint32) (bool, error) {
	for _, row := range rows {
		if int64(*row) >= int64(len(s.position)) {
			return false, fault.Invalid("INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", *row, len(s.position)-1)
		}
		if s.position[*row] == droppedRow {
			return false, nil
		}
		*row = uint32(s.position[*row])
	}
	return true, nil
}

func filterItems[T any](items []T, keep func(T) (bool, error)) ([]T, error) {
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

// keptValues are the values of the rows that are kept; no values stay none.
func keptValues[T any](s *RowFilter, values []T, what string) ([]T, error) {
	if s == nil || len(values) == 0 {
		return values, nil
	}
	if len(values) != len(s.position) {
		return nil, fault.Invalid("SIZE_MISMATCH", "there are %d %s for %s", len(values), what, shell.Plural(len(s.position), "row"))
	}
	few := make([]T, len(s.Kept))
	for at, row := range s.Kept {
		few[at] = values[row]
	}
	return few, nil
}

// Truth is the truth about the rows that are kept.
func (s *RowFilter) Truth(t *Truth) (*Truth, error) {
	if s == nil || t == nil {
		return t, nil
	}
	labels, err := keptValues(s, t.Labels, "true labels")
	few := &Truth{Labels: labels}
	for _, row := range t.ScoreOn {
		if s.keeps(int(row)) {
			few.ScoreOn = append(few.ScoreOn, s.position[row])
		}
	}
	if err == nil && len(t.ScoreOn) > 0 && len(few.ScoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "all points that --score-on names were left out")
	}
	return few, err
}

// Restore is the way back: a label for each row of the file.
func (s *RowFilter) Restore(labels []int32) []int32 {
	if s == nil {
		return labels
	}
	all := slices.Repeat([]int32{droppedRow}, len(s.position))
	for at, row := range s.Kept {
		all[row] = labels[at]
	}
	return all
}
