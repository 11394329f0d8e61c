package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// role says how a column is used.
type role int

const (
	undecided  role = iota
	identifies      // holds the row ids
	classifies      // holds the true classes
	unused
	feature
	category // a feature whose values are categories
	kept     // a feature that is used unchanged
)

// Find is table.Find with an error for a column that the table does not have, which suggests the one that was probably
// meant.
func Find(t *table.Table, name string) (int, error) {
	names := t.Names()
	if at := table.Find(names, name); at >= 0 {
		return at, nil
	}
	if _, err := strconv.Atoi(name); err == nil {
		return 0, fault.Invalid("UNKNOWN_COLUMN", "the table has no column %s; it has %s", name,
			text.Plural(len(names), "column")).With("column", name)
	}
	help := "it has " + quoted(names)
	if similar := similarTo(name, names); similar != "" {
		help = fmt.Sprintf("did you mean %.60q?", similar)
	}
	return 0, fault.Invalid("UNKNOWN_COLUMN", "the table has no column %.60q; %s", name, help).With("column", name)
}

// similarTo returns the name that was probably meant by a mistaken one, ignoring case, or "" if none is similar.
func similarTo(mistaken string, names []string) string {
	lower := make([]string, len(names))
	for at, name := range names {
		lower[at] = strings.ToLower(name)
	}
	found := text.Similar(strings.ToLower(mistaken), lower)
	for at, name := range lower {
		if name == found {
			return names[at]
		}
	}
	return ""
}

// roles returns the role that the user gave each column, undecided for the others.
func (o *Options) roles(t *table.Table) ([]role, error) {
	roles := make([]role, len(t.Columns))
	give := func(name string, r role) error {
		at, err := Find(t, name)
		if err != nil {
			return err
		}
		before := roles[at]
		refines := before == feature && r == kept || (before == feature || before == kept) && r == category
		if before != undecided && before != r && !refines {
			return fault.Invalid("COLUMN_USED_TWICE",
				"column %.60q has two roles; use it for only one of id, label, feature or ignored", t.Columns[at].Name).
				With("column", t.Columns[at].Name)
		}
		roles[at] = r
		return nil
	}
	for _, list := range []struct {
		names []string
		role  role
	}{{named(o.ID), identifies}, {named(o.Label), classifies}, {o.Ignore, unused}, {o.Only, feature}, {o.Keep, kept},
		{o.Categorical, category}} {
		for _, name := range list.names {
			if err := give(name, list.role); err != nil {
				return nil, err
			}
		}
	}
	return roles, nil
}

func named(column string) []string {
	if column == "" {
		return nil
	}
	return []string{column}
}

// looksLikeID reports whether a column has a typical name of a column of row ids.
func looksLikeID(t *table.Table, at int) bool {
	name := t.Columns[at].Name
	if name == table.Unnamed(at) { // pandas writes its index as a first column without a name
		return at == 0 && len(t.Columns) > 1 && t.Columns[1].Name != table.Unnamed(1)
	}
	return table.IsIDName(name)
}

// looksLikeLabel reports whether a column has a typical name of a column of true classes.
func looksLikeLabel(t *table.Table, at int) bool {
	switch strings.ToLower(t.Columns[at].Name) {
	case "class", "label", "target", "truth", "cluster", "species":
		return true
	case "y": // beside x it is a coordinate
		for other := range t.Columns {
			if strings.EqualFold(t.Columns[other].Name, "x") {
				return false
			}
		}
		return len(t.Columns) > 1 && t.Columns[at].Type != table.Number
	}
	return false
}

// repetition returns the first row whose value repeats that of an earlier row, and the earlier row; found is false if
// all values are distinct. Empty cells do not count.
func repetition(c *table.Column) (first, second int, found bool) {
	if c.Type == table.Integer && c.Empty == nil && ascending(c.Integers) {
		return 0, 0, false
	}
	seen := make(map[string]int, c.Len())
	for row := range c.Filled() {
		value := c.CellText(row)
		if before, repeated := seen[value]; repeated {
			return before, row, true
		}
		seen[value] = row
	}
	return 0, 0, false
}

func ascending(numbers []int64) bool {
	for at := 1; at < len(numbers); at++ {
		if numbers[at] <= numbers[at-1] {
			return false
		}
	}
	return true
}

// mixedAt returns the first row that does not fit a mostly numeric column: its text is not a number or, if all are
// numbers, has another decimal separator than those before. It returns -1 if there is none, or if most of the first
// 1000 texts are not numbers.
func mixedAt(c *table.Column) int {
	const enough = 1000
	numbers, first, seen := 0, -1, 0
	for row := 0; row < c.Len() && seen < enough; row++ {
		if c.IsEmpty(row) {
			continue
		}
		seen++
		if isNumber(c.Texts[row]) {
			numbers++
		} else if first < 0 {
			first = row
		}
	}
	if 2*numbers < seen || numbers == 0 {
		return -1
	}
	for row := enough; first < 0 && row < c.Len(); row++ {
		if !c.IsEmpty(row) && !isNumber(c.Texts[row]) {
			first = row
		}
	}
	if first < 0 {
		return otherDecimals(c)
	}
	return first
}

// otherDecimals returns the first row whose decimal separator differs from that of the rows before, or -1.
func otherDecimals(c *table.Column) int {
	separator := ""
	for row, s := range c.Texts {
		if at := strings.IndexAny(s, ".,"); at >= 0 && !c.IsEmpty(row) && isNumber(s) {
			if separator != "" && separator != s[at:at+1] {
				return row
			}
			separator = s[at : at+1]
		}
	}
	return -1
}

// isNumber reports whether a text is a number, with a decimal point or comma.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return err == nil
}

// countEmpty returns how many cells are empty, and the first row with one, or -1.
func countEmpty(c *table.Column) (count, first int) {
	if c.Empty == nil && c.Type != table.Text {
		return 0, -1
	}
	first = -1
	for row := range c.Len() {
		if c.IsEmpty(row) {
			if count == 0 {
				first = row
			}
			count++
		}
	}
	return count, first
}

// enoughRows is the smallest number of rows in which a regular pattern of values is probably not an accident.
const enoughRows = 10

// likeID returns why a column of integers looks like row ids rather than measurements, or "" if it does not.
func likeID(c *table.Column) string {
	if c.Type != table.Integer || c.Empty != nil || c.Len() < 3 {
		return ""
	}
	if step := c.Integers[1] - c.Integers[0]; step != 0 && even(c.Integers, step) {
		if step == 1 {
			return fmt.Sprintf("counts the rows from %d", c.Integers[0])
		}
		return fmt.Sprintf("changes by %d from row to row", step)
	}
	if c.Len() < enoughRows {
		return ""
	}
	least := slices.Min(c.Integers)
	most := slices.Max(c.Integers)
	digits := len(strconv.FormatInt(most, 10))
	sameDigits := least >= 0 && len(strconv.FormatInt(least, 10)) == digits
	const longNumber = 8 // prices and the like are shorter
	switch whole := uint64(most)-uint64(least) == uint64(c.Len())-1; {
	case !whole && !(sameDigits && digits >= longNumber) && !(isNumberName(c.Name) && ascending(c.Integers)):
		return ""
	case repeats(c):
		return ""
	case whole:
		return fmt.Sprintf("has each number from %d to %d once", least, most)
	case sameDigits && digits >= longNumber:
		return fmt.Sprintf("has a different %d-digit number in each row", digits)
	}
	return "is named like an id and increases from row to row"
}

func repeats(c *table.Column) bool {
	_, _, found := repetition(c)
	return found
}

// isNumberName reports whether a column has a typical name of a column that numbers the rows.
func isNumberName(name string) bool {
	switch table.LastWord(name) {
	case "nr", "no", "num", "number", "row", "case", "record", "obs", "observation", "seq", "sequence", "#", "nummer",
		"zeile", "id", "index", "key":
		return true
	}
	return strings.HasSuffix(strings.ToLower(name), "nummer")
}

// even reports whether each number is the one before plus step.
func even(numbers []int64, step int64) bool {
	for at := 1; at < len(numbers); at++ {
		if numbers[at]-numbers[at-1] != step {
			return false
		}
	}
	return true
}
