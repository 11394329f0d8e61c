// Package table is what is known about the points of a data set: constraints, seeds, weights, beliefs and
// labels. A table has named columns of integers, numbers or texts, the same as the CSV file that it may come
// from. It is immutable, and named by the SHA-256 of its canonical bytes.
package table

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
)

// What a table may have at most.
const (
	MaxColumns   = 64
	MaxRows      = math.MaxInt32
	MaxNameBytes = 200
	MaxTextBytes = 1000
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

func (c *Column) empty(row int) bool { return c.Empty != nil && c.Empty[row] }

// Table is columns of equal length.
type Table struct {
	Columns []Column
	rows    int
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.rows }

// New checks columns and makes a table of them. It keeps their slices, and clears the cells that are empty.
func New(columns []Column) (*Table, error) {
	if len(columns) == 0 || len(columns) > MaxColumns {
		return nil, fault.Invalid("BAD_COLUMNS", "the table has %d columns; it must have 1 to %d", len(columns), MaxColumns)
	}
	t := &Table{Columns: columns, rows: columns[0].Len()}
	if t.rows > MaxRows {
		return nil, fault.Invalid("TOO_MANY_ROWS", "the table has %d rows; at most %d are supported", t.rows, MaxRows)
	}
	for at := range columns {
		c := &columns[at]
		if err := t.checkColumn(c); err != nil {
			return nil, err
		}
		for before := range at {
			if columns[before].Name == c.Name {
				return nil, fault.Invalid("DUPLICATE_COLUMN", "the table has two columns %q", c.Name).With("column", c.Name)
			}
		}
		if err := c.checkCells(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

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
func (c *Column) checkCells() error {
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
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return c.fault(row, "NOT_FINITE", "%v is not a finite number", v)
			}
		}
	}
	if c.Type == Text {
		for row, s := range c.Texts {
			if len(s) > MaxTextBytes || !utf8.ValidString(s) {
				return c.fault(row, "BAD_TEXT", "%.60q is not a text; it must have at most %d bytes of UTF-8", s, MaxTextBytes)
			}
		}
	}
	return nil
}

// fault is about one cell.
func (c *Column) fault(row int, reason, format string, args ...any) *fault.Error {
	args = append([]any{row, c.Name}, args...)
	return fault.Invalid(reason, "row %d, column %q: "+format, args...).With("row", strconv.Itoa(row)).With("column", c.Name)
}
