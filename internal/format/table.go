package format

import (
	"errors"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// LoadTable is LoadNamed for a file whose points and classes have no names.
func LoadTable[T any](path string, kind table.Kind[T], points int) (*table.Table, []T, error) {
	return LoadNamed(Input{Path: path}, kind, points, table.Naming{})
}

// LoadNamed reads a table of the given kind (table.Constraints and the like) about a data set with the given number of
// points, and returns it with its parsed rows. The first line is the header; columns may be in any order. Where the
// table identifies points and classes by name, the returned one has their numbers instead. If naming has open ids, the
// table itself defines the points.
func LoadNamed[T any](in Input, kind table.Kind[T], points int, naming table.Naming) (*table.Table, []T, error) {
	t, err := readCells(in, kind.Columns, naming)
	if err == nil {
		err = naming.Resolve(t)
	}
	if err != nil {
		return nil, nil, err
	}
	list, err := kind.Read(t, naming.IDs.Points(points))
	return t, list, err
}

// readCells reads a table with these columns, as naming has them in a file. The first line may be a row instead of the
// header; then the columns are in the order of table.Columns.InOrder.
func readCells(in Input, columns table.Columns, naming table.Naming) (*table.Table, error) {
	return readInput(in, scan.Options{}, func(s *scan.Source) (*table.Table, error) {
		return cellsOf(s, naming.FileColumns(columns), naming)
	})
}

func cellsOf(s *scan.Source, columns table.Columns, naming table.Naming) (*table.Table, error) {
	switch s.Suffix {
	case ".npy", scan.NPZSuffix, ".parquet", ".arrow", ".mtx", ".graphml":
		return nil, s.Invalid("UNKNOWN_FORMAT", "the format is %s; a CSV with the columns %s is expected",
			s.Suffix[1:], columns)
	}
	if _, err := s.Decode(false); err != nil {
		return nil, err
	}
	l := scan.NewLines(s, s.Separator())
	l.AllowBlankLines = true
	first, err := l.NextRow()
	if errors.Is(err, io.EOF) {
		return nil, s.Invalid("MISSING_HEADER", "the file is empty; it needs the header %s, even if no rows follow",
			columns)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(first))
	for at, cell := range first {
		names[at] = string(cell)
	}
	var jumps []table.Jump
	rows, next := 0, l.LineNumber+1 // the line of the next row, if no line is blank
	isRow := naming.IsRow(names, columns)
	if isRow {
		names = columns.InOrder(len(names))
		next = l.LineNumber
	} else if scan.KindOfRow(first) != scan.RowOfNames {
		return nil, l.Invalid("MISSING_HEADER", "the first line must be the header %s, or a row with these columns",
			columns)
	}
	t, err := table.FromHeader(s.Name, names, columns)
	if err != nil {
		wrapped := fault.Wrap(err, "%s, line %d", s.Name, l.LineNumber)
		if bad, ok := errors.AsType[*fault.Error](wrapped); ok {
			bad.Message += "; column names come from the first line"
		}
		return nil, wrapped
	}
	add := func(cells [][]byte) error {
		if len(cells) != len(t.Columns) {
			return l.Invalid("RAGGED_ROWS", "the line has %s where the header has %d, %s",
				text.Plural(len(cells), "cell"), len(t.Columns), strings.Join(names, ","))
		}
		if rows == 0 || l.LineNumber != next {
			jumps = append(jumps, table.Jump{Row: rows, Line: l.LineNumber})
		}
		rows, next = rows+1, l.LineNumber+1
		for at, cell := range cells {
			if err := appendCell(l, &t.Columns[at], cell); err != nil {
				return err
			}
		}
		return nil
	}
	if isRow {
		err = add(first)
	}
	if err == nil {
		err = l.EachRow(add)
	}
	if err == nil {
		err = t.Check()
	}
	t.Locate(s.Name, jumps)
	return t, err
}

// appendCell parses a cell by the type of its column and appends it. Other columns of the row are the caller's part.
func appendCell(l *scan.Lines, c *table.Column, cell []byte) error {
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
		v, ok = scan.ParseInteger(cell)
		c.Integers = append(c.Integers, v)
	case table.Number:
		var v float64
		v, ok = scan.ParseFloat(cell)
		c.Numbers = append(c.Numbers, v)
	case table.Text:
		c.Texts = append(c.Texts, string(cell))
	}
	if ok || empty {
		return nil
	}
	if c.Type == table.Integer {
		return l.Invalid("NOT_AN_INTEGER",
			"%s in column %q is not an integer; points are identified by row number from 0 unless the data has an "+
				"id column", scan.Quote(cell), c.Name)
	}
	return l.Invalid("NOT_A_NUMBER", "%s in column %q is not a number", scan.Quote(cell), c.Name)
}
