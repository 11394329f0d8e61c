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

// RowFilter says which rows of a data file are clustered when others are dropped (--missing drop). The
// coordinator gets the kept rows only and numbers them from 0; the files that people read and write number the
// rows of the data file. nil keeps all rows.
type RowFilter struct {
	Kept     []int32 // rows of the file that are kept, in ascending order
	position []int32 // for each row of the file its number among the kept ones, or droppedRow

	incomplete, zero            int // rows that were dropped, by reason
	constraints, seeds, beliefs int // dropped because they name a dropped row
}

// droppedRow is the number among the kept rows, and the label in labels.csv, of a dropped row.
const droppedRow = -1

// newRowFilter drops the incomplete rows of a file, which data does not contain, and, where directions are
// compared, the rows of zeros.
func newRowFilter(data dataset.Dataset, incomplete []int32, directions bool) *RowFilter {
	f := &RowFilter{position: make([]int32, data.Rows()+len(incomplete)), incomplete: len(incomplete)}
	for _, row := range incomplete {
		f.position[row] = droppedRow
	}
	at := -1 // the row in data
	for row := range f.position {
		if f.position[row] == droppedRow {
			continue
		}
		if at++; directions && allZero(data, at) {
			f.position[row] = droppedRow
			f.zero++
			continue
		}
		f.position[row] = int32(len(f.Kept))
		f.Kept = append(f.Kept, int32(row))
	}
	return f
}

// String says what was dropped.
func (f *RowFilter) String() string {
	var why, with []string
	count := func(list *[]string, n int, singular, rest string) {
		if n > 0 {
			*list = append(*list, shell.Plural(n, singular)+rest)
		}
	}
	count(&why, f.incomplete, "row", " with missing values")
	count(&why, f.zero, "row", " of zeros, without a direction")
	count(&with, f.constraints, "constraint", "")
	count(&with, f.seeds, "seed", "")
	count(&with, f.beliefs, "belief", "")
	text := fmt.Sprintf("left out of %s: %s", shell.Plural(len(f.position), "row"), strings.Join(why, ", "))
	if len(with) > 0 {
		text += "; and with them " + strings.Join(with, " and ")
	}
	return text
}

// FileRows is the number of rows of the file, given the number of kept ones.
func (f *RowFilter) FileRows(kept int) int {
	if f == nil {
		return kept
	}
	return len(f.position)
}

// Dropped is the number of dropped rows.
func (f *RowFilter) Dropped() int { return len(f.position) - len(f.Kept) }

// keeps tells whether a row of the file is kept.
func (f *RowFilter) keeps(row int) bool { return f == nil || f.position[row] != droppedRow }

// Apply renumbers the rows in a spec from those of the file to the kept ones, and drops what names a dropped
// row.
func (f *RowFilter) Apply(spec *cleavev1.JobSpec) (err error) {
	if f == nil {
		return nil
	}
	if given := spec.GetSupervision(); given != nil {
		constraints, seeds := len(given.Constraints), len(given.Seeds)
		given.Constraints, err = filterItems(given.Constraints, func(c *cleavev1.Constraint) (bool, error) { return f.renumber(&c.I, &c.J) })
		if err != nil {
			return err
		}
		given.Seeds, err = filterItems(given.Seeds, func(seed *cleavev1.Seed) (bool, error) { return f.renumber(&seed.Index) })
		if err != nil {
			return err
		}
		f.constraints, f.seeds = constraints-len(given.Constraints), seeds-len(given.Seeds)
	}
	if start := spec.GetInitialization(); start != nil {
		if start.Labels, err = keptValues(f, start.Labels, "labels to start from"); err != nil {
			return err
		}
	}
	if options := spec.GetKernelKmeans(); options != nil {
		options.Weights, err = keptValues(f, options.Weights, "weights")
	}
	if options := spec.GetConstrainedSpectral(); options != nil {
		beliefs := len(options.Beliefs)
		options.Beliefs, err = filterItems(options.Beliefs, func(b *cleavev1.Belief) (bool, error) { return f.renumber(&b.I, &b.J) })
		f.beliefs = beliefs - len(options.Beliefs)
	}
	return err
}

// renumber replaces rows of the file by their numbers among the kept ones, and tells whether all are kept.
func (f *RowFilter) renumber(rows ...*uint32) (bool, error) {
	for _, row := range rows {
		if int64(*row) >= int64(len(f.position)) {
			return false, fault.Invalid("INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", *row, len(f.position)-1)
		}
		if f.position[*row] == droppedRow {
			return false, nil
		}
		*row = uint32(f.position[*row])
	}
	return true, nil
}

// filterItems keeps the items for which keep is true.
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

// keptValues are the values of the kept rows. An empty list stays empty.
func keptValues[T any](f *RowFilter, values []T, what string) ([]T, error) {
	if f == nil || len(values) == 0 {
		return values, nil
	}
	if len(values) != len(f.position) {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: %s for %s", what, shell.Plural(len(values), "value"), shell.Plural(len(f.position), "row"))
	}
	kept := make([]T, len(f.Kept))
	for at, row := range f.Kept {
		kept[at] = values[row]
	}
	return kept, nil
}

// Truth is the truth about the kept rows.
func (f *RowFilter) Truth(t *Truth) (*Truth, error) {
	if f == nil || t == nil {
		return t, nil
	}
	labels, err := keptValues(f, t.Labels, "true labels")
	kept := &Truth{Labels: labels}
	for _, row := range t.ScoreOn {
		if f.keeps(int(row)) {
			kept.ScoreOn = append(kept.ScoreOn, f.position[row])
		}
	}
	if err == nil && len(t.ScoreOn) > 0 && len(kept.ScoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "all points that --score-on names were left out")
	}
	return kept, err
}

// Restore gives each row of the file its label, given those of the kept rows.
func (f *RowFilter) Restore(labels []int32) []int32 {
	if f == nil {
		return labels
	}
	all := slices.Repeat([]int32{droppedRow}, len(f.position))
	for at, row := range f.Kept {
		all[row] = labels[at]
	}
	return all
}
