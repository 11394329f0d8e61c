package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Columns of two categories, no and yes, become a single column of 0 and 1. In a column of check marks, empty cells
// are no.

// isCheck reports whether the categories are those of a column of check marks, which is empty where there is none.
func (f *Feature) isCheck() bool {
	return len(f.Categories) == 2 && f.Categories[0] == unchecked && isCheckMark(f.Categories[1])
}

// unchecked is the category of the empty cells in a column of check marks.
const unchecked = "no"

func isCheckMark(s string) bool {
	switch s {
	case "x", "X", "✓", "✔", "☑", "✗", "•", "*":
		return true
	}
	return false
}

// opposites maps words for no to the matching words for yes.
var opposites = map[string]string{"false": "true", "no": "yes", "n": "y", "f": "t"}

// isSwitch reports whether the categories are no and yes, which a single column of 0 and 1 encodes.
func (f *Feature) isSwitch() bool {
	return len(f.Categories) == 2 && strings.ToLower(f.Categories[1]) == opposites[strings.ToLower(f.Categories[0])] ||
		f.isCheck()
}

// switchText describes the cells of a switch to the user, after the name of the column.
func (f *Feature) switchText() string {
	if f.isCheck() {
		return fmt.Sprintf("has %.40q or is empty", f.Categories[1])
	}
	return fmt.Sprintf("says %.40q or %.40q", f.Categories[1], f.Categories[0])
}

// holdsChecks reports whether a column is empty except for check marks, all alike.
func holdsChecks(c *table.Column) bool {
	empty, _ := countEmpty(c)
	return c.Type == table.Text && empty > 0 && empty < c.Len() && isCheckMark(firstValue(c)) && isConstant(c)
}

// withChecks fills the empty cells of a column of check marks.
func withChecks(c *table.Column) *table.Column {
	filled := &table.Column{Name: c.Name, Type: table.Text, Texts: slices.Clone(c.Texts)}
	for row := range filled.Texts {
		if c.IsEmpty(row) {
			filled.Texts[row] = unchecked
		}
	}
	return filled
}
