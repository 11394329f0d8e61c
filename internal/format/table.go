package format

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// column is one column that a table may have, found by its name in the header.
type column struct {
	name     string
	optional bool
}

// table reads a small file with a mandatory header, row by row.
type table struct {
	*lines
	cut      splitter
	columns  []column
	position []int // of each column in the file; -1: absent
	width    int
	cells    [][]byte
}

// openTable reads the header. Columns may stand in any order.
func openTable(r io.Reader, name string, columns ...column) (*table, error) {
	s, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	t := &table{lines: newLines(s), cut: splitter{separator: ','}, columns: columns}
	if s.suffix == ".tsv" {
		t.cut.separator = '\t'
	}
	line, err := t.next()
	if errors.Is(err, io.EOF) {
		return nil, s.invalid("MISSING_HEADER", "the file is empty; it needs the header %s, with nothing after it for an empty set", t.wanted())
	}
	if err != nil {
		return nil, err
	}
	cells, err := t.cut.split(t.lines, line)
	if err != nil {
		return nil, err
	}
	return t, t.readHeader(cells)
}

func (t *table) readHeader(cells [][]byte) error {
	if kindOfRow(cells) != rowOfNames {
		return t.invalid("MISSING_HEADER", "the first line must be the header %s", t.wanted())
	}
	t.width = len(cells)
	t.position = slices.Repeat([]int{-1}, len(t.columns))
	for at, cell := range cells {
		name := strings.ToLower(string(cell))
		known := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
		switch {
		case known < 0:
			return t.invalid("UNKNOWN_COLUMN", "the header names the column %s; the columns here are %s", shown(cell), t.wanted())
		case t.position[known] >= 0:
			return t.invalid("DUPLICATE_COLUMN", "the header names the column %s twice", shown(cell))
		}
		t.position[known] = at
	}
	for at, c := range t.columns {
		if t.position[at] < 0 && !c.optional {
			return t.invalid("MISSING_COLUMN", "the header has no column %q; the columns here are %s", c.name, t.wanted())
		}
	}
	return nil
}

// wanted is the header as errors show it: "i,j,kind[,weight]".
func (t *table) wanted() string {
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

// each calls a function on every row; cell and its like then speak of that row.
func (t *table) each(row func() error) error {
	for {
		line, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.cells, err = t.cut.split(t.lines, line); err != nil {
			return err
		}
		if len(t.cells) != t.width {
			return t.invalid("RAGGED_ROWS", "the line has %d cells where the header has %d", len(t.cells), t.width)
		}
		if err := row(); err != nil {
			return err
		}
	}
}

// has tells whether the file has a column.
func (t *table) has(column int) bool { return t.position[column] >= 0 }

// cell is the current row's cell in a column, empty when there is no such column.
func (t *table) cell(column int) []byte {
	if !t.has(column) {
		return nil
	}
	return t.cells[t.position[column]]
}

// index reads a point's number: within 0..points-1 when points is known (not 0).
func (t *table) index(column, points int) (int32, error) {
	cell := t.cell(column)
	value, ok := parseInteger(cell)
	if !ok {
		return 0, t.invalid("NOT_AN_INDEX", "%s in column %q is no index; points are numbered from 0", shown(cell), t.columns[column].name)
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
		return 0, t.invalid("NOT_AN_INTEGER", "%s in column %q is no integer", shown(cell), t.columns[column].name)
	}
	return value, nil
}

// weight reads a positive finite number.
func (t *table) weight(column int) (float64, error) {
	cell := t.cell(column)
	value, ok := parseFloat(cell)
	if !ok {
		return 0, t.invalid("NOT_A_NUMBER", "the weight %s is no number", shown(cell))
	}
	if !(value > 0) || !finite(value) {
		return 0, t.invalid("BAD_WEIGHT", "the weight is %s; weights must be positive and finite", shown(cell))
	}
	return value, nil
}

// onlyOnce remembers the line of each index, to refuse the second mention.
type onlyOnce map[int32]int

func (seen onlyOnce) add(t *table, index int32) error {
	if before, again := seen[index]; again {
		return t.invalid("DUPLICATE_INDEX", "point %d stands here again; it was on line %d", index, before).
			With("index", strconv.Itoa(int(index)))
	}
	seen[index] = t.number
	return nil
}
