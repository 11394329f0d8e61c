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

// RowFilter tells which rows of a data file are clustered if others are dropped. The coordinator gets only the kept
// rows and numbers them from 0; files of users number the rows of the data file. A nil filter keeps all rows.
type RowFilter struct {
	Kept     []int32 // kept rows of the file, in ascending order
	position []int32 // the index in Kept of each row of the file, or droppedRow

	incomplete, blank, zero, either, total int // the number of dropped rows by reason; either if the reason is unknown
	constraints, seeds, beliefs            int // the number of entries that were removed with them
}

// droppedRow is the position, and the label in labels.csv, of a dropped row.
const droppedRow = -1

// newRowFilter drops the incomplete rows of a file, which data does not contain, and, if directions are compared, those
// that are all zero, which it removes from data. The filter is nil if no row is dropped. It returns an error if no row
// is left.
func newRowFilter(path string, data dataset.Dataset, incomplete []int32,
	directions bool) (*RowFilter, dataset.Dataset, error) {
	skipped := make([]bool, data.Rows()+len(incomplete))
	for _, row := range incomplete {
		skipped[row] = true
	}
	var kept, points []int32 // the rows of the file and of data
	point := int32(0)
	for row := range skipped {
		if skipped[row] {
			continue
		}
		if !directions || !allZero(data, int(point)) {
			kept = append(kept, int32(row))
			points = append(points, point)
		}
		point++
	}
	if len(kept) == len(skipped) {
		return nil, data, nil
	}
	f := FilterOf(kept, len(skipped))
	f.incomplete = len(incomplete)
	f.zero = data.Rows() - len(kept)
	f.either = 0
	if len(kept) == 0 {
		return nil, nil, fault.Invalid("EMPTY_DATA", "%s: no row is left: %s", path, f)
	}
	var err error
	if f.zero > 0 {
		data, err = dataset.Take(data, points)
	}
	return f, data, err
}

// newTableFilter drops the rows of a table that did not become points, of which some are zeros.
func newTableFilter(rows int, p *recipe.Prepared, zeros int) *RowFilter {
	f := FilterOf(p.Kept, rows)
	f.blank, f.zero, f.either = p.Blank, zeros, 0
	if p.Total {
		f.total = 1
	}
	f.incomplete = f.Dropped() - f.blank - f.zero - f.total
	return f
}

// FilterOf returns the filter that keeps the given rows, in ascending order, of a file.
func FilterOf(kept []int32, rows int) *RowFilter {
	f := &RowFilter{Kept: kept, position: slices.Repeat([]int32{droppedRow}, rows), either: rows - len(kept)}
	for at, row := range kept {
		f.position[row] = int32(at)
	}
	return f
}

// FilterOfLabels returns the filter that keeps the rows with a cluster, given the labels of a run.
func FilterOfLabels(labels []int64) *RowFilter {
	var kept []int32
	for row, label := range labels {
		if label != droppedRow {
			kept = append(kept, int32(row))
		}
	}
	return FilterOf(kept, len(labels))
}

// String says how many rows were dropped and why: "left out 3 of 120 rows (with missing values), and with them 2
// seeds". With several reasons, each has its number of rows.
func (f *RowFilter) String() string {
	var why, with []string
	because := func(rows int, reason string) {
		if rows > 0 {
			why = append(why, fmt.Sprintf("%d %s", rows, reason))
		}
	}
	because(f.incomplete, "with missing values")
	because(f.blank, "without values")
	because(f.total, "with totals")
	because(f.zero, "all zero, without a direction")
	because(f.either, "with missing values, with totals, or without a direction")
	for _, entries := range []struct {
		lost int
		noun string
	}{{f.constraints, "constraint"}, {f.seeds, "seed"}, {f.beliefs, "belief"}} {
		if entries.lost > 0 {
			with = append(with, text.Plural(entries.lost, entries.noun))
		}
	}
	if len(why) == 1 {
		_, why[0], _ = strings.Cut(why[0], " ") // all rows
	}
	line := fmt.Sprintf("left out %d of %s (%s)", f.Dropped(), text.Plural(len(f.position), "row"),
		strings.Join(why, ", "))
	if len(with) > 0 {
		line += ", and with them " + text.Join(with, "and")
	}
	return line
}

// FileRows returns the number of rows of the file, given the number of kept ones.
func (f *RowFilter) FileRows(kept int) int {
	if f == nil {
		return kept
	}
	return len(f.position)
}

// FileRow returns the row of the file for a kept row.
func (f *RowFilter) FileRow(kept int) int {
	if f == nil {
		return kept
	}
	return int(f.Kept[kept])
}

// Dropped returns the number of dropped rows. The filter must not be nil.
func (f *RowFilter) Dropped() int { return len(f.position) - len(f.Kept) }

// keeps reports whether a row of the file is kept.
func (f *RowFilter) keeps(row int) bool { return f == nil || f.position[row] != droppedRow }

// Apply renumbers the rows in the inline tables of a spec from rows of the file to kept rows, and removes entries
// about dropped rows.
func (f *RowFilter) Apply(spec *cleavev1.JobSpec) error {
	if f == nil {
		return nil
	}
	for _, used := range wire.UsedTables(spec) {
		name := used.Name()
		if used.Input.GetInline() == nil {
			return shell.Usage("Cleave %s and numbered the others anew, but the %s are a table of the coordinator; "+
				"give them as a file", f, name)
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

// Constraints returns the constraints between kept rows, renumbered to kept rows.
func (f *RowFilter) Constraints(all []constraint.Constraint) []constraint.Constraint {
	if f == nil {
		return all
	}
	return constraint.Among(len(f.position), f.Kept, all)
}

// Truth returns the truth about the kept rows, or nil for nil.
func (f *RowFilter) Truth(t *Truth) (*Truth, error) {
	if f == nil || t == nil {
		return t, nil
	}
	if len(t.Labels) != len(f.position) {
		return nil, fault.Invalid("SIZE_MISMATCH", "true labels: %s for %s", text.Plural(len(t.Labels), "value"),
			text.Plural(len(f.position), "row"))
	}
	kept := t.At(f.Kept)
	if kept.ScoreOn != nil && len(kept.ScoreOn) == 0 {
		return nil, fault.Invalid("NOTHING_TO_SCORE", "all points that --score-on names were left out")
	}
	return kept, nil
}

// RestoreScores returns the score of each row of the file, given those of the kept rows. Dropped rows have NaN.
func (f *RowFilter) RestoreScores(scores []float64) []float64 { return restore(f, scores, math.NaN()) }

// Restore returns the label of each row of the file, given those of the kept rows. Dropped rows have -1.
func (f *RowFilter) Restore(labels []int32) []int32 { return restore(f, labels, droppedRow) }

func restore[T any](f *RowFilter, kept []T, dropped T) []T {
	if f == nil || kept == nil {
		return kept
	}
	all := slices.Repeat([]T{dropped}, len(f.position))
	for at, row := range f.Kept {
		all[row] = kept[at]
	}
	return all
}

// DropsRows reports whether rows with missing values are dropped.
func (f *Flags) DropsRows() bool { return f.table.missing.Text == "drop" }

func allZero(data dataset.Dataset, row int) bool {
	switch data := data.(type) {
	case *dataset.Points:
		return !slices.ContainsFunc(data.Row(row), func(v float64) bool { return v != 0 })
	case *dataset.SparsePoints:
		return data.RowStart[row] == data.RowStart[row+1]
	}
	return false
}
