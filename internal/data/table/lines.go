package table

import (
	"context"
	"runtime"
	"sort"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// Jump says that a row is on a line of its file, from 1, and that those after it have one line each.
type Jump struct{ Row, Line int }

// Locate says where a table was read: in which file, and on which lines of it.
func (t *Table) Locate(file string, jumps []Jump) {
	t.file, t.jumps = file, jumps
}

// lineOf is the line of a row.
func (t *Table) lineOf(row int) int {
	after := sort.Search(len(t.jumps), func(at int) bool { return t.jumps[at].Row > row })
	if after == 0 {
		return LineOf(row)
	}
	last := t.jumps[after-1]
	return last.Line + row - last.Row
}

// Join is a table of the rows of several, which have the same columns.
func Join(parts []*Table) (*Table, error) {
	if len(parts) == 0 {
		return nil, fault.Invalid("BAD_COLUMNS", "there are no rows, and nothing says which columns they would have")
	}
	first := parts[0]
	if len(parts) == 1 {
		return first, nil
	}
	joined := &Table{Columns: make([]Column, len(first.Columns)), file: first.file}
	for _, p := range parts {
		if len(p.Columns) != len(first.Columns) {
			return nil, fault.Invalid("COLUMNS_DIFFER", "a part of the table has %d columns, the first has %d", len(p.Columns), len(first.Columns))
		}
		for _, j := range p.jumps {
			joined.jumps = append(joined.jumps, Jump{joined.rows + j.Row, j.Line})
		}
		if joined.rows += p.rows; joined.rows > MaxRows {
			return nil, joined.invalid("TOO_MANY_ROWS", "the table has more than %d rows, which is the most that is supported", MaxRows)
		}
	}
	threads := runtime.GOMAXPROCS(0)
	err := parallel.NewPool(threads).Run(context.Background(), threads, len(joined.Columns), func(at int) error {
		c, like := &joined.Columns[at], &first.Columns[at]
		c.Name, c.Type = like.Name, like.Type
		switch c.Type {
		case Integer:
			c.Integers = make([]int64, 0, joined.rows)
		case Number:
			c.Numbers = make([]float64, 0, joined.rows)
		default:
			c.Texts = make([]string, 0, joined.rows)
		}
		for _, p := range parts {
			if err := c.join(&p.Columns[at], joined.rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return joined, nil
}

// join appends the cells of a part to those of a column that will have so many rows.
func (c *Column) join(part *Column, rows int) error {
	if part.Name != c.Name || part.Type != c.Type {
		return fault.Invalid("COLUMNS_DIFFER", "a part of the table has %.60q with %v for a column, others have %.60q with %v", part.Name, part.Type, c.Name, c.Type)
	}
	before := c.Len()
	c.Integers = append(c.Integers, part.Integers...)
	c.Numbers = append(c.Numbers, part.Numbers...)
	c.Texts = append(c.Texts, part.Texts...)
	if part.Empty != nil {
		if c.Empty == nil {
			c.Empty = make([]bool, rows)
		}
		copy(c.Empty[before:], part.Empty)
	}
	return nil
}
