package format

import (
	"errors"
	"io"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
)

// ReadTable reads a table of some kind (table.Constraints and the like) and what its rows say about so many
// points. The first line is the header; columns may stand in any order.
func ReadTable[T any](r io.Reader, name string, kind table.Kind[T], points int) (*table.Table, []T, error) {
	return ReadNamed(r, name, kind, points, table.Naming{})
}

// LoadTable is ReadTable of a path.
func LoadTable[T any](path string, kind table.Kind[T], points int) (*table.Table, []T, error) {
	return LoadNamed(path, kind, points, table.Naming{})
}

// ReadNamed is ReadTable of a table that calls points and classes by names. The table that it returns has their numbers. With
// open ids, points are what the table names.
func ReadNamed[T any](r io.Reader, name string, kind table.Kind[T], points int, naming table.Naming) (*table.Table, []T, error) {
	t, err := readCells(r, name, naming.In(kind.Columns))
	if err == nil {
		err = naming.Resolve(t)
	}
	if err != nil {
		return nil, nil, err
	}
	list, err := kind.Read(t, naming.IDs.Points(points))
	return t, list, naming.IDs.Say(err)
}

// LoadNamed is ReadNamed of a path.
func LoadNamed[T any](path string, kind table.Kind[T], points int, naming table.Naming) (*table.Table, []T, error) {
	var list []T
	t, err := load(path, func(r io.Reader, name string) (t *table.Table, err error) {
		t, list, err = ReadNamed(r, name, kind, points, naming)
		return t, err
	})
	return t, list, err
}

func readCells(r io.Reader, name string, columns table.Columns) (*table.Table, error) {
	s, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	l := newLines(s, ',')
	if s.suffix == ".tsv" {
		l.separator = '\t'
	}
	cells, err := l.nextRow()
	switch {
	case errors.Is(err, io.EOF):
		return nil, s.invalid("MISSING_HEADER", "the file is empty; it needs the header %s, with nothing after it for an empty set", columns)
	case err != nil:
		return nil, err
	case kindOfRow(cells) != rowOfNames:
		return nil, l.invalid("MISSING_HEADER", "the first line must be the header %s", columns)
	}
	names := make([]string, len(cells))
	for at, cell := range cells {
		names[at] = string(cell)
	}
	t, err := table.FromHeader(name, names, columns)
	if err != nil {
		return nil, fault.Wrap(err, "%s, line 1", name)
	}
	err = l.eachRow(func(cells [][]byte) error {
		if len(cells) != len(t.Columns) {
			return l.invalid("RAGGED_ROWS", "the line has %d cells where the header has %d", len(cells), len(t.Columns))
		}
		for at, cell := range cells {
			if err := l.appendCell(&t.Columns[at], cell); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = t.Check()
	}
	return t, err
}

func (l *lines) appendCell(c *table.Column, cell []byte) error {
	ok, empty := true, len(cell) == 0
	if empty && c.Empty == nil {
		c.Empty = make([]bool, c.Len())
	}
	if c.Empty != nil {
		c.Empty = append(c.Empty, empty)
	}
	switch c.Type {
	case table.Integer:
		var v int64
		v, ok = parseInteger(cell)
		c.Integers = append(c.Integers, v)
	case table.Number:
		var v float64
		v, ok = parseFloat(cell)
		c.Numbers = append(c.Numbers, v)
	case table.Text:
		c.Texts = append(c.Texts, string(cell))
	}
	if ok || empty {
		return nil
	}
	if c.Type == table.Integer {
		return l.invalid("NOT_AN_INTEGER", "%s in column %q is no integer; points go by their numbers from 0 unless the data have a column of ids", quoted(cell), c.Name)
	}
	return l.invalid("NOT_A_NUMBER", "%s in column %q is no number", quoted(cell), c.Name)
}
