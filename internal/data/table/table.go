// Package table holds tables: the ones that points are made from, and the ones that say something about points, such as
// constraints, seeds, weights, beliefs and labels. A table has named columns of integers, numbers or texts, like the
// CSV file it may come from. Readers fill, resolve and check a table; once it is shared, it is immutable. Its ID is the
// SHA-256 of its canonical bytes.
package table

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/text"
)

// Limits of a table.
const (
	MaxColumns   = 16384
	MaxRows      = math.MaxInt32
	MaxNameBytes = 200
	MaxTextBytes = 1 << 16
)

// Type is the type of the cells of a column.
type Type uint8

// The types of columns.
const (
	Integer Type = iota + 1
	Number       // finite
	Text         // UTF-8
)

func (t Type) String() string {
	return cmp.Or(text.Name(t, "", "integers", "numbers", "texts"), "unknown")
}

// Column is a column of a table. Only the list of its type is used.
type Column struct {
	Name     string
	Type     Type
	Integers []int64
	Numbers  []float64
	Texts    []string
	Empty    []bool // marks empty cells, whose values are zero; nil if there are none
}

// Len returns the number of cells.
func (c *Column) Len() int {
	switch c.Type {
	case Integer:
		return len(c.Integers)
	case Number:
		return len(c.Numbers)
	}
	return len(c.Texts)
}

// Make allocates the cells. The column must have none.
func (c *Column) Make(rows int) {
	switch c.Type {
	case Integer:
		c.Integers = make([]int64, rows)
	case Number:
		c.Numbers = make([]float64, rows)
	default:
		c.Texts = make([]string, rows)
	}
}

// CellText formats a cell as text, "" if it is empty. Equal integers and numbers have equal texts.
func (c *Column) CellText(row int) string {
	switch {
	case c.IsEmpty(row):
		return ""
	case c.Type == Integer:
		return strconv.FormatInt(c.Integers[row], 10)
	case c.Type == Number:
		if v := c.Numbers[row]; v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(c.Numbers[row], 'g', -1, 64)
	}
	return c.Texts[row]
}

// Number returns a cell of a column of integers or numbers.
func (c *Column) Number(row int) float64 {
	if c.Type == Integer {
		return float64(c.Integers[row])
	}
	return c.Numbers[row]
}

// IsEmpty reports whether a cell is marked as empty or is the empty text.
func (c *Column) IsEmpty(row int) bool {
	return c.Empty != nil && c.Empty[row] || c.Type == Text && c.Texts[row] == ""
}

// Filled yields the rows whose cells are not empty.
func (c *Column) Filled() iter.Seq[int] {
	return func(yield func(int) bool) {
		for row := range c.Len() {
			if !c.IsEmpty(row) && !yield(row) {
				return
			}
		}
	}
}

// FilledTexts yields the rows whose cells are not empty, and their texts. Other types have none.
func (c *Column) FilledTexts() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for row, s := range c.Texts {
			if !c.IsEmpty(row) && !yield(row, s) {
				return
			}
		}
	}
}

// MarkNaN marks NaN as empty: many programs write it for missing values.
func (c *Column) MarkNaN() {
	for row, v := range c.Numbers {
		if v != v {
			c.MarkEmpty(row)
		}
	}
}

// MarkUnrepresentable marks as empty what no table can hold. It is meant for columns that are not used.
func (c *Column) MarkUnrepresentable() {
	for row, v := range c.Numbers {
		if v-v != 0 {
			c.MarkEmpty(row)
		}
	}
	for row, s := range c.Texts {
		if !isCell(s) {
			c.MarkEmpty(row)
		}
	}
}

// MarkEmpty marks a cell as empty.
func (c *Column) MarkEmpty(row int) {
	if c.Empty == nil {
		c.Empty = make([]bool, c.Len())
	}
	c.Empty[row] = true
}

// isCell reports whether a text can be a cell.
func isCell(s string) bool { return len(s) <= MaxTextBytes && utf8.ValidString(s) }

// Table holds columns of equal length.
type Table struct {
	Columns []Column
	rows    int
	file    string            // the file it was read from, for errors; "" if none
	jumps   []Jump            // the lines of the rows; nil means that LineOf tells them
	header  map[string]string // names in the file of columns that have another name here
	guessed []string          // how columns with unknown names were read
	ids     *IDs              // of the points that its numbers replaced, for errors; nil if it has always had numbers
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Names returns the names of the columns.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for at := range t.Columns {
		names[at] = t.Columns[at].Name
	}
	return names
}

// Column returns the column of a name, nil if there is none.
func (t *Table) Column(name string) *Column {
	for at := range t.Columns {
		if t.Columns[at].Name == name {
			return &t.Columns[at]
		}
	}
	return nil
}

// ByName returns all columns by their names. A table may have thousands of columns, and Column looks at each.
func (t *Table) ByName() map[string]*Column {
	columns := make(map[string]*Column, len(t.Columns))
	for at := range t.Columns {
		columns[t.Columns[at].Name] = &t.Columns[at]
	}
	return columns
}

// New checks columns and makes a table of them. It keeps their slices and sets empty cells to zero.
func New(columns []Column) (*Table, error) {
	t := &Table{Columns: columns}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return t, nil
}

// FromHeader returns an empty table with the columns that the first line of a file names, in upper or lower case. If
// as many columns have other names as are missing, they are taken for these, in order, and Guessed reports it. The
// caller appends the cells of each further line to the columns, and finally calls Check.
func FromHeader(file string, names []string, known Columns) (*Table, error) {
	t := &Table{Columns: make([]Column, len(names)), file: file}
	called, guessed := known.resolveNames(names)
	for at, name := range called {
		c := &t.Columns[at]
		c.Name, c.Type = name, Text
		if name != strings.ToLower(names[at]) {
			if t.header == nil {
				t.header = map[string]string{}
			}
			t.header[name] = names[at]
		}
		if guessed[at] {
			t.guessed = append(t.guessed, fmt.Sprintf("column %.40q is read as %s", names[at], name))
		}
		for _, k := range known {
			if k.Name == c.Name {
				c.Type = k.Type
			}
		}
	}
	if _, err := t.Pick(known); err != nil {
		return nil, err
	}
	return t, t.Check()
}

// Guessed returns how columns were read whose names are not those of the table, "" if all names are.
func (t *Table) Guessed() string { return strings.Join(t.guessed, ", ") }

// resolveNames returns the names of the columns here: those in the file in lower case, with a column "id" renamed to
// "index" and "class" to "label" where columns have these and the file does not. Unknown names become those of the
// missing columns if there are equally many; guessed marks them.
func (columns Columns) resolveNames(names []string) (called []string, guessed []bool) {
	called = make([]string, len(names))
	guessed = make([]bool, len(names))
	for at, name := range names {
		called[at] = strings.ToLower(name)
	}
	for _, name := range []struct{ file, here string }{{"id", "index"}, {"class", "label"}} {
		at := slices.Index(called, name.file)
		here := name.here
		if at >= 0 && !slices.Contains(called, here) && columns.has(here) {
			called[at] = here
		}
	}
	var missing []string
	for _, c := range columns {
		if !slices.Contains(called, c.Name) && (!c.Optional || c.Name == index.Name && len(names) > 1) {
			missing = append(missing, c.Name)
		}
	}
	unknown := 0
	for _, name := range called {
		if !columns.has(name) {
			unknown++
		}
	}
	// weights and beliefs are too much alike to guess
	if unknown != len(missing) || !columns.has("kind") && !columns.has("label") {
		return called, guessed
	}
	for at, name := range called {
		if !columns.has(name) {
			called[at], guessed[at] = missing[0], true
			missing = missing[1:]
		}
	}
	return called, guessed
}

func (columns Columns) has(name string) bool {
	return slices.ContainsFunc(columns, func(c ColumnSpec) bool { return c.Name == name })
}

// InOrder returns the names of this many columns in a file without a header, in the order in which String lists them.
// It returns nil if the file has too few or too many columns.
func (columns Columns) InOrder(count int) (names []string) {
	required := 0
	for _, c := range columns {
		if c.Ignored {
			continue
		}
		names = append(names, c.Name)
		if !c.Optional {
			required++
		}
	}
	switch {
	case count < required || count > len(names):
		return nil
	case count == required:
		return slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(columns, func(c ColumnSpec) bool { return c.Name == name && c.Optional })
		})
	}
	return names[:count]
}

// Check checks the columns as New does.
func (t *Table) Check() error {
	if len(t.Columns) == 0 || len(t.Columns) > MaxColumns {
		return fault.Invalid("BAD_COLUMNS", "the table has %d columns; it must have 1 to %d",
			len(t.Columns), MaxColumns)
	}
	t.rows = t.Columns[0].Len()
	if t.rows > MaxRows {
		return t.invalid("TOO_MANY_ROWS", "the table has %d rows; at most %d are supported", t.rows, MaxRows)
	}
	known := make(map[string]bool, len(t.Columns))
	for at := range t.Columns {
		c := &t.Columns[at]
		if err := t.checkColumn(c); err != nil {
			return err
		}
		if known[c.Name] {
			return fault.Invalid("DUPLICATE_COLUMN", "the table has two columns %q", c.Name).With("column", c.Name)
		}
		known[c.Name] = true
	}
	threads := 1
	if t.rows >= manyRows {
		threads = runtime.GOMAXPROCS(0)
	}
	return parallel.Run(context.Background(), threads, len(t.Columns), func(at int) error {
		return t.checkCells(&t.Columns[at])
	})
}

// manyRows is the number of rows from which on several threads pay off.
const manyRows = 1 << 12

// checkColumn checks all but the cells of a column: its name, its type, and its length, which is that of the first.
func (t *Table) checkColumn(c *Column) error {
	switch {
	case c.Name == "" || len(c.Name) > MaxNameBytes || !utf8.ValidString(c.Name):
		return fault.Invalid("BAD_COLUMNS", "a column has the name %.60q; a name must have 1 to %d bytes of UTF-8",
			c.Name, MaxNameBytes)
	case c.Type < Integer || c.Type > Text:
		return fault.Invalid("BAD_COLUMN_TYPE", "column %q does not say whether it holds integers, numbers or texts",
			c.Name).With("column", c.Name)
	case c.Len() != t.rows:
		return fault.Invalid("COLUMN_LENGTHS_DIFFER", "column %q has %d rows, but column %q has %d", c.Name, c.Len(),
			t.Columns[0].Name, t.rows).With("column", c.Name)
	case c.Empty != nil && len(c.Empty) != t.rows:
		return fault.Invalid("COLUMN_LENGTHS_DIFFER", "column %q has %d marks of empty cells for %d rows", c.Name,
			len(c.Empty), t.rows).With("column", c.Name)
	}
	return nil
}

// checkCells refuses values that canonical bytes cannot hold, and sets empty cells to zero.
func (t *Table) checkCells(c *Column) error {
	anyEmpty := false
	for row, empty := range c.Empty {
		if !empty {
			continue
		}
		anyEmpty = true
		switch c.Type {
		case Integer:
			c.Integers[row] = 0
		case Number:
			c.Numbers[row] = 0
		case Text:
			c.Texts[row] = ""
		}
	}
	if !anyEmpty {
		c.Empty = nil
	}
	if c.Type == Number {
		for row, v := range c.Numbers {
			if v-v != 0 { // infinite or NaN
				return t.Fault(c, row, "NOT_FINITE", "%v is not a finite number", v)
			}
		}
	}
	if c.Type == Text {
		for row, s := range c.Texts {
			if !isCell(s) {
				return t.Fault(c, row, "BAD_TEXT", "%.60q is not a text; it must have at most %d bytes of UTF-8",
					s, MaxTextBytes)
			}
		}
	}
	return nil
}

// Fault returns an error about one cell, which names the line of the file, or the row of a table without a file.
func (t *Table) Fault(c *Column, row int, reason, format string, args ...any) *fault.Error {
	message := fmt.Sprintf("column %q: ", cmp.Or(t.header[c.Name], c.Name)) + fmt.Sprintf(format, args...)
	if t.file == "" {
		return fault.InRow(row, reason, ", %s", message).With("column", c.Name)
	}
	file, line := t.lineOf(row)
	return fault.Invalid(reason, "%s, line %d, %s", file, line, message).With("line", strconv.Itoa(line)).With("column",
		c.Name)
}

// LineOf returns the line of a row, from 1, in a file whose first line is the header.
func LineOf(row int) int { return row + 2 }

// Place names a row in the middle of a sentence, and its file if there are several.
func (t *Table) Place(row int) string {
	file, line := t.lineOf(row)
	switch last := len(t.jumps) - 1; {
	case t.file == "":
		return fmt.Sprintf("in row %d", row)
	case last >= 0 && t.jumps[last].file != "":
		return fmt.Sprintf("on line %d of %s", line, file)
	}
	return fmt.Sprintf("on line %d", line)
}

// invalid returns an error about the table as a whole.
func (t *Table) invalid(reason, format string, args ...any) *fault.Error {
	f := fault.Invalid(reason, format, args...)
	if t.file != "" {
		f.Message = t.file + ": " + f.Message
	}
	return f
}
