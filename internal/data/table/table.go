// Package table is tables: those that points are made of, and those of what is known about points, such as
// constraints, seeds, weights, beliefs and labels. A table has named columns of integers, numbers or texts, the same as
// the CSV file that it may come from. It is immutable, and named by the SHA-256 of its canonical bytes.
package table

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// What a table may have at most.
const (
	MaxColumns   = 16384
	MaxRows      = math.MaxInt32
	MaxNameBytes = 200
	MaxTextBytes = 1 << 16
)

// Type is what the cells of a column are.
type Type uint8

// The types of columns.
const (
	Integer Type = iota + 1
	Number       // finite
	Text         // UTF-8
)

func (t Type) String() string {
	switch t {
	case Integer:
		return "integers"
	case Number:
		return "numbers"
	case Text:
		return "texts"
	}
	return "cells of an unknown type"
}

// Column is one column. Of the three lists only that of its type is used.
type Column struct {
	Name     string
	Type     Type
	Integers []int64
	Numbers  []float64
	Texts    []string
	// Empty marks the cells that are empty, nil when none is. What stands in them is zero.
	Empty []bool
}

// Len is the number of cells.
func (c *Column) Len() int {
	switch c.Type {
	case Integer:
		return len(c.Integers)
	case Number:
		return len(c.Numbers)
	}
	return len(c.Texts)
}

// CellText is a cell as a text, which is the same for equal integers and numbers; "" where it is empty.
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

// IsEmpty tells whether a cell is empty. A text of no letters says nothing either.
func (c *Column) IsEmpty(row int) bool {
	return c.Empty != nil && c.Empty[row] || c.Type == Text && c.Texts[row] == ""
}

// MarkNaN marks what is not a number as empty: that is how many programs write missing values.
func (c *Column) MarkNaN() {
	for row, v := range c.Numbers {
		if v != v {
			c.MarkEmpty(row)
		}
	}
}

// MarkUnfit marks as empty what no table can hold, in a column that nobody needs.
func (c *Column) MarkUnfit() {
	for row, v := range c.Numbers {
		if v-v != 0 {
			c.MarkEmpty(row)
		}
	}
	for row, s := range c.Texts {
		if !fits(s) {
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

// fits tells whether a text can be a cell.
func fits(s string) bool { return len(s) <= MaxTextBytes && utf8.ValidString(s) }

// Table is columns of equal length.
type Table struct {
	Columns []Column
	rows    int
	file    string // where it was read from, for errors to name the line; empty for nowhere
	jumps   []Jump // which lines the rows are on; nil: as LineOf says

	header map[string]string // what the file calls columns that are called otherwise here
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.rows }

// New checks columns and makes a table of them. It keeps their slices, and clears the cells that are empty.
func New(columns []Column) (*Table, error) {
	t := &Table{Columns: columns}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return t, nil
}

// FromHeader is a table with the columns that the first line of a file names, in capitals or not. Every further
// line is then a row: its cells are appended to the columns, and when all are there Check must accept them.
func FromHeader(file string, names []string, known Columns) (*Table, error) {
	t := &Table{Columns: make([]Column, len(names)), file: file}
	for at, name := range known.called(names) {
		c := &t.Columns[at]
		if c.Name, c.Type = name, Text; name != strings.ToLower(names[at]) {
			t.callHere(name, names[at])
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

// callHere remembers what the file calls a column.
func (t *Table) callHere(name, inFile string) {
	if t.header == nil {
		t.header = map[string]string{}
	}
	t.header[name] = inFile
}

// called are what columns are called that a file calls otherwise: points go by their ids, and labels may be classes.
func (columns Columns) called(names []string) []string {
	called := make([]string, len(names))
	for at, name := range names {
		called[at] = strings.ToLower(name)
	}
	for file, here := range map[string]string{"id": "index", "class": "label"} {
		at := slices.Index(called, file)
		if at >= 0 && !slices.Contains(called, here) && slices.ContainsFunc(columns, func(c ColumnSpec) bool { return c.Name == here }) {
			called[at] = here
		}
	}
	return called
}

// Check is what New does to the columns of a table.
func (t *Table) Check() error {
	if len(t.Columns) == 0 || len(t.Columns) > MaxColumns {
		return fault.Invalid("BAD_COLUMNS", "the table has %d columns; it must have 1 to %d", len(t.Columns), MaxColumns)
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
	return parallel.NewPool(threads).Run(context.Background(), threads, len(t.Columns), func(at int) error { return t.checkCells(&t.Columns[at]) })
}

// manyRows is how many rows are worth several threads.
const manyRows = 1 << 12

func (t *Table) checkColumn(c *Column) error {
	switch {
	case c.Name == "" || len(c.Name) > MaxNameBytes || !utf8.ValidString(c.Name):
		return fault.Invalid("BAD_COLUMNS", "a column is called %.60q; a name has 1 to %d bytes of UTF-8", c.Name, MaxNameBytes)
	case c.Type < Integer || c.Type > Text:
		return fault.Invalid("BAD_COLUMN_TYPE", "column %q does not say whether it holds integers, numbers or texts", c.Name).With("column", c.Name)
	case c.Len() != t.rows:
		return fault.Invalid("COLUMN_LENGTHS_DIFFER", "column %q has %d rows where column %q has %d", c.Name, c.Len(), t.Columns[0].Name, t.rows).With("column", c.Name)
	case c.Empty != nil && len(c.Empty) != t.rows:
		return fault.Invalid("COLUMN_LENGTHS_DIFFER", "column %q marks %d rows as empty or not; it has %d", c.Name, len(c.Empty), t.rows).With("column", c.Name)
	}
	return nil
}

// checkCells refuses what canonical bytes do not hold, and makes the cells that are empty the same
// everywhere.
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
			if v-v != 0 { // it is infinite or not a number
				return t.Fault(c, row, "NOT_FINITE", "%v is not a finite number", v)
			}
		}
	}
	if c.Type == Text {
		for row, s := range c.Texts {
			if !fits(s) {
				return t.Fault(c, row, "BAD_TEXT", "%.60q is not a text; it must have at most %d bytes of UTF-8", s, MaxTextBytes)
			}
		}
	}
	return nil
}

// Fault is about one cell.
func (t *Table) Fault(c *Column, row int, reason, format string, args ...any) *fault.Error {
	message := fmt.Sprintf("column %q: ", cmp.Or(t.header[c.Name], c.Name)) + fmt.Sprintf(format, args...)
	if t.file == "" {
		return fault.Invalid(reason, "row %d, %s", row, message).With("row", strconv.Itoa(row)).With("column", c.Name)
	}
	return fault.Invalid(reason, "%s, line %d, %s", t.file, t.lineOf(row), message).With("line", strconv.Itoa(t.lineOf(row))).With("column", c.Name)
}

// LineOf is the line of a row in a file, from 1: the first is the header, and each row has one.
func LineOf(row int) int { return row + 2 }

// Place is a row in the middle of a sentence.
func (t *Table) Place(row int) string {
	if t.file == "" {
		return fmt.Sprintf("in row %d", row)
	}
	return fmt.Sprintf("on line %d", t.lineOf(row))
}

// invalid is a fault of the table as a whole.
func (t *Table) invalid(reason, format string, args ...any) *fault.Error {
	f := fault.Invalid(reason, format, args...)
	if t.file != "" {
		f.Message = t.file + ": " + f.Message
	}
	return f
}
