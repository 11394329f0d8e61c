package format

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// column is one column of a table, found by its name in the header.
type column struct {
	name     string
	optional bool
}

// table reads a small file row by row. The file must have a header.
type table struct {
	*lines
	columns  []column
	position []int // of each column in the file; -1: absent
	width    int
}

// openTable reads the header. Columns may stand in any order.
func openTable(r io.Reader, name string, columns ...column) (*table, error) {
	s, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	t := &table{lines: newLines(s, ','), columns: columns}
	if s.suffix == ".tsv" {
		t.separator = '\t'
	}
	cells, err := t.nextRow()
	if errors.Is(err, io.EOF) {
		return nil, s.invalid("MISSING_HEADER", "the file is empty; it needs the header %s, with nothing after it for an empty set", t.headerText())
	}
	if err != nil {
		return nil, err
	}
	return t, t.readHeader(cells)
}

func (t *table) readHeader(cells [][]byte) error {
	if kindOfRow(cells) != rowOfNames {
		return t.invalid("MISSING_HEADER", "the first line must be the header %s", t.headerText())
	}
	t.width = len(cells)
	t.position = slices.Repeat([]int{-1}, len(t.columns))
	for at, cell := range cells {
		name := strings.ToLower(string(cell))
		known := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
		switch {
		case known < 0:
			return t.invalid("UNKNOWN_COLUMN", "the header names the column %s; the columns here are %s", quoted(cell), t.headerText())
		case t.position[known] >= 0:
			return t.invalid("DUPLICATE_COLUMN", "the header names the column %s twice", quoted(cell))
		}
		t.position[known] = at
	}
	for at, c := range t.columns {
		if t.position[at] < 0 && !c.optional {
			return t.invalid("MISSING_COLUMN", "the header has no column %q; the columns here are %s", c.name, t.headerText())
		}
	}
	return nil
}

// headerText is the header as errors show it: "i,j,kind[,weight]".
func (t *table) headerText() string {
	var b strings.Builder
	for at, c := range t.columns {
		switch {
		case at > 0 && c.optional:
			b.WriteString("[," + c.name + "]")
		case at > 0:
			b.WriteString("," + c.name)
		case c.optional:
			b.WriteString("[" + c.name + "]")
		default:
			b.WriteString(c.name)
		}
	}
	return b.String()
}

// each calls a function for every row, which reads the row by cell, index, integer and weight.
func (t *table) each(row func() error) error {
	return t.eachRow(func(cells [][]byte) error {
		if len(cells) != t.width {
			return t.invalid("RAGGED_ROWS", "the line has %d cells where the header has %d", len(cells), t.width)
		}
		return row()
	})
}

// has tells whether the file has a column.
func (t *table) has(column int) bool { return t.position[column] >= 0 }

// cell is the current row's cell in a column, empty if the file has no such column.
func (t *table) cell(column int) []byte {
	if !t.has(column) {
		return nil
	}
	return t.cells[t.position[column]]
}

// index reads the number of a point. It must be below points, unless that is 0, for not known.
func (t *table) index(column, points int) (int32, error) {
	cell := t.cell(column)
	value, ok := parseInteger(cell)
	if !ok {
		return 0, t.invalid("NOT_AN_INDEX", "%s in column %q is no index; points are numbered from 0", quoted(cell), t.columns[column].name)
	}
	last := int64(math.MaxInt32 - 1)
	if points > 0 {
		last = int64(points) - 1
	}
	if value < 0 || value > last {
		return 0, t.invalid("INDEX_OUT_OF_RANGE", "point %d in column %q is outside 0..%d", value, t.columns[column].name, last)
	}
	return int32(value), nil
}

// integer reads any integer.
func (t *table) integer(column int) (int64, error) {
	cell := t.cell(column)
	value, ok := parseInteger(cell)
	if !ok {
		return 0, t.invalid("NOT_AN_INTEGER", "%s in column %q is no integer", quoted(cell), t.columns[column].name)
	}
	return value, nil
}

// number reads a float; what says what it is.
func (t *table) number(what string, column int) (float64, error) {
	value, ok := parseFloat(t.cell(column))
	if !ok {
		return 0, t.invalid("NOT_A_NUMBER", "the %s %s is no number", what, quoted(t.cell(column)))
	}
	return value, nil
}

// weight reads a positive finite number.
func (t *table) weight(column int) (float64, error) {
	value, err := t.number("weight", column)
	if err == nil && (!(value > 0) || !finite(value)) {
		return 0, t.invalid("BAD_WEIGHT", "the weight is %s; weights must be positive and finite", quoted(t.cell(column)))
	}
	return value, err
}

// seenIndices is the line of each index so far; an index must not occur twice.
type seenIndices map[int32]int

func (seen seenIndices) add(t *table, index int32) error {
	if before, again := seen[index]; again {
		return t.invalid("DUPLICATE_INDEX", "point %d stands here again; it was on line %d", index, before).
			With("index", strconv.Itoa(int(index)))
	}
	seen[index] = t.lineNumber
	return nil
}

// emptyNotNil returns either rows or an error. Rows that were read but are none become an empty slice:
// to some callers nil means that no file was given.
func emptyNotNil[T any](rows []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []T{}
	}
	return rows, nil
}
