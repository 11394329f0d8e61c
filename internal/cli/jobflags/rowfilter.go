package jobflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

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

// Apply makes the tables of a spec that speak of the rows of the file speak of those that are kept, and
// leaves out what they say of the others.
func (s *RowFilter) Apply(spec *cleavev1.JobSpec) error {
	if s == nil {
		return nil
	}
	for _, used := range wire.UsedTables(spec) {
		name := used.Field[strings.LastIndex(used.Field, ".")+1:]
		if used.Input.GetInline() == nil {
			return shell.Usage("the %s are a table of the coordinator's, whose points --missing drop would number anew: give them as a file", name)
		}
		all, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", name)
		}
		kept, err := all.Keep(s.position)
		if err != nil {
			return fault.Wrap(err, "%s", name)
		}
		used.Input.Source = wire.InlineTable(kept).Source
		lost := all.Rows() - kept.Rows()
		switch name {
		case "constraints":
			s.constraints = lost
		case "seeds":
			s.seeds = lost
		case "beliefs":
			s.beliefs = lost
		}
	}
	return nil
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
