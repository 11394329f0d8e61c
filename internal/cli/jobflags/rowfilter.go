package jobflags

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// RowFilter says which rows of a data file are clustered when others are dropped (--missing drop). The
// coordinator gets the kept rows only and numbers them from 0; the files that people read and write number the
// rows of the data file. nil keeps all rows.
type RowFilter struct {
	Kept     []int32 // rows of the file that are kept, in ascending order
	position []int32 // for each row of the file its number among the kept ones, or droppedRow

	incomplete, zero, either, total int // rows that were dropped, by reason
	constraints, seeds, beliefs     int // dropped because they name a dropped row
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

// newTableFilter drops the rows of a table of which a recipe made no points.
func newTableFilter(rows int, p *recipe.Prepared, directions bool) *RowFilter {
	f := newRowFilter(p.Points, others(rows, p.Kept), directions)
	if p.Total {
		f.incomplete--
		f.total++
	}
	return f
}

// FilterOf keeps some rows of a file of so many.
func FilterOf(kept []int32, rows int) *RowFilter {
	f := &RowFilter{Kept: kept, position: slices.Repeat([]int32{droppedRow}, rows), either: rows - len(kept)}
	for at, row := range kept {
		f.position[row] = int32(at)
	}
	return f
}

// String says what was dropped.
func (f *RowFilter) String() string {
	var why, with []string
	count := func(list *[]string, n int, singular, rest string) {
		if n > 0 {
			*list = append(*list, text.Plural(n, singular)+rest)
		}
	}
	count(&why, f.incomplete, "row", " with missing values")
	count(&why, f.total, "row", " of totals")
	count(&why, f.zero, "row", " of zeros, without a direction")
	count(&why, f.either, "row", " with missing values, of totals or without a direction")
	count(&with, f.constraints, "constraint", "")
	count(&with, f.seeds, "seed", "")
	count(&with, f.beliefs, "belief", "")
	text := fmt.Sprintf("left out of %s: %s", text.Plural(len(f.position), "row"), strings.Join(why, ", "))
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

// FileRow returns the row of the file that is a kept row.
func (f *RowFilter) FileRow(kept int) int {
	if f == nil {
		return kept
	}
	return int(f.Kept[kept])
}

// Dropped is the number of dropped rows.
func (f *RowFilter) Dropped() int { return len(f.position) - len(f.Kept) }

// keeps tells whether a row of the file is kept.
func (f *RowFilter) keeps(row int) bool { return f == nil || f.position[row] != droppedRow }

// Apply renumbers the rows in the tables of a spec from those of the file to the kept ones, and drops what
// names a dropped row.
func (f *RowFilter) Apply(spec *cleavev1.JobSpec) error {
	if f == nil {
		return nil
	}
	for _, used := range wire.UsedTables(spec) {
		name := used.Name()
		if used.Input.GetInline() == nil {
			return shell.Usage("--missing drop numbers the points anew, but the %s are a table of the coordinator's: give them as a file", name)
		}
		all, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", name)
		}
		kept, err := all.Keep(f.position)
		if err != nil {
			return fault.Wrap(err, "%s", name)
		}
		used.Input.Source = wire.InlineTable(kept).Source
		lost := all.Rows() - kept.Rows()
		switch name {
		case "constraints":
			f.constraints = lost
		case "seeds":
			f.seeds = lost
		case "beliefs":
			f.beliefs = lost
		}
	}
	return nil
}

// Constraints are those between kept rows, by their numbers among these.
func (f *RowFilter) Constraints(all []constraint.Constraint) []constraint.Constraint {
	if f == nil {
		return all
	}
	return constraint.Among(len(f.position), f.Kept, all)
}

// keptValues are the values of the kept rows. An empty list stays empty.
func keptValues[T any](f *RowFilter, values []T, what string) ([]T, error) {
	if f == nil || len(values) == 0 {
		return values, nil
	}
	if len(values) != len(f.position) {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: %s for %s", what, text.Plural(len(values), "value"), text.Plural(len(f.position), "row"))
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
	kept := &Truth{Labels: labels, Classes: t.Classes}
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

// RestoreScores gives each row of the file its score, given those of the kept rows. The others have none.
func (f *RowFilter) RestoreScores(scores []float64) []float64 {
	if f == nil || scores == nil {
		return scores
	}
	all := slices.Repeat([]float64{math.NaN()}, len(f.position))
	for at, row := range f.Kept {
		all[row] = scores[at]
	}
	return all
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
