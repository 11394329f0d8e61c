package table

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

// FromBeliefs makes a table of beliefs.
func FromBeliefs(list []constraint.Belief) *Table {
	i := make([]int64, len(list))
	j := make([]int64, len(list))
	belief := make([]float64, len(list))
	for at, b := range list {
		i[at], j[at], belief[at] = int64(b.I), int64(b.J), b.Value
	}
	return &Table{rows: len(list), Columns: []Column{
		{Name: "i", Type: Integer, Integers: i}, {Name: "j", Type: Integer, Integers: j},
		{Name: "belief", Type: Number, Numbers: belief},
	}}
}

// Keep returns the rows about points that are kept, with new numbers: place is the new number of each point, negative
// if it is dropped. In a table that names no points, row i is about point i.
func (t *Table) Keep(place []int32) (*Table, error) {
	var about []*Column
	for at := range t.Columns {
		if c := &t.Columns[at]; pointColumns[c.Name] && c.Type == Integer {
			about = append(about, c)
		}
	}
	if len(about) == 0 && t.rows != len(place) {
		return nil, fault.Invalid("SIZE_MISMATCH", "the table has %d rows for %d points; it needs one row per point",
			t.rows, len(place))
	}
	var rows []int
	r := &reading{Table: t, columns: about, points: len(place), at: -1}
	for r.next() {
		keep := len(about) > 0 || place[r.at] >= 0
		for column := range about {
			index := r.index(column)
			keep = keep && r.err == nil && place[index] >= 0
		}
		if keep {
			rows = append(rows, r.at)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	kept := t.Take(rows)
	for at := range kept.Columns {
		if c := &kept.Columns[at]; pointColumns[c.Name] {
			for row, v := range c.Integers {
				c.Integers[row] = int64(place[v])
			}
		}
	}
	return kept, nil
}

// FromConstraints makes a table of constraints.
func FromConstraints(list []constraint.Constraint) *Table {
	i := Column{Name: "i", Type: Integer}
	j := Column{Name: "j", Type: Integer}
	kind := Column{Name: "kind", Type: Text}
	weight := Column{Name: "weight", Type: Number, Empty: make([]bool, len(list))}
	for at, c := range list {
		i.Integers, j.Integers = append(i.Integers, int64(c.I)), append(j.Integers, int64(c.J))
		kind.Texts = append(kind.Texts, c.Kind.String())
		weight.Numbers = append(weight.Numbers, c.Weight)
		weight.Empty[at] = !c.Weighted
	}
	t := &Table{Columns: []Column{i, j, kind, weight}, rows: len(list)}
	if !slices.Contains(weight.Empty, false) {
		t.Columns = t.Columns[:3]
	}
	return t
}

// Sample returns a table of count evenly spaced rows, see choose.Even.
func (t *Table) Sample(count int) *Table {
	if count >= t.rows {
		return t
	}
	return t.Take(choose.Even[int](t.rows, count))
}

// Take returns the given rows in the given order.
func (t *Table) Take(rows []int) *Table {
	taken := &Table{Columns: make([]Column, len(t.Columns)), rows: len(rows)}
	for at := range t.Columns {
		c := &t.Columns[at]
		taken.Columns[at] = Column{
			Name: c.Name, Type: c.Type,
			Integers: choose.At(c.Integers, rows), Numbers: choose.At(c.Numbers, rows), Texts: choose.At(c.Texts, rows),
			Empty: choose.At(c.Empty, rows),
		}
	}
	return taken
}

// Only returns a table of the columns with the given names, which shares memory with t.
func (t *Table) Only(names []string) (*Table, error) {
	only := *t
	only.Columns = nil
	columns := t.ByName()
	for _, name := range names {
		c := columns[name]
		if c == nil {
			return nil, fault.Invalid("COLUMN_NOT_FOUND", "the table has no column %.60q", name).OnField("columns").
				With("column", name)
		}
		only.Columns = append(only.Columns, *c)
	}
	return &only, nil
}

// First returns a table of the first rows, which shares memory with t.
func (t *Table) First(rows int) *Table {
	first := *t
	first.Columns = make([]Column, len(t.Columns))
	first.rows = rows
	for at := range t.Columns {
		c := &t.Columns[at]
		first.Columns[at] = Column{
			Name: c.Name, Type: c.Type,
			Integers: upTo(c.Integers, rows), Numbers: upTo(c.Numbers, rows), Texts: upTo(c.Texts, rows),
			Empty: upTo(c.Empty, rows),
		}
	}
	return &first
}

// upTo returns the first cells; nil stays nil.
func upTo[T any](cells []T, rows int) []T {
	if cells == nil {
		return nil
	}
	return cells[:rows:rows]
}

// Jump is the line of a row in its file, from 1. The rows after it, up to the next Jump, are on one line each.
type Jump struct {
	Row, Line int
	file      string // "" means that of the table; see Join
}

// Locate sets the file and the lines that a table was read from, for errors.
func (t *Table) Locate(file string, jumps []Jump) {
	t.file, t.jumps = file, jumps
}

// lineOf returns the file and the line of a row.
func (t *Table) lineOf(row int) (file string, line int) {
	after := sort.Search(len(t.jumps), func(at int) bool { return t.jumps[at].Row > row })
	if after == 0 {
		return t.file, LineOf(row)
	}
	last := t.jumps[after-1]
	return cmp.Or(last.file, t.file), last.Line + row - last.Row
}

// Join concatenates the rows of several tables, which must have the same columns.
func Join(parts []*Table) (*Table, error) {
	if len(parts) == 0 {
		return nil, fault.Invalid("BAD_COLUMNS", "the table has no rows and no columns")
	}
	first := parts[0]
	if len(parts) == 1 {
		return first, nil
	}
	joined := &Table{Columns: make([]Column, len(first.Columns)), file: first.file}
	for _, p := range parts {
		if len(p.Columns) != len(first.Columns) {
			return nil, fault.Invalid("COLUMNS_DIFFER", "a part of the table has %d columns, the first has %d",
				len(p.Columns), len(first.Columns))
		}
		for _, j := range p.jumps {
			j.Row += joined.rows
			if p.file != joined.file {
				j.file = p.file
			}
			joined.jumps = append(joined.jumps, j)
		}
		joined.rows += p.rows
		if joined.rows > MaxRows {
			return nil, joined.invalid("TOO_MANY_ROWS", "the table has more than %d rows, the largest number supported",
				MaxRows)
		}
	}
	threads := runtime.GOMAXPROCS(0)
	err := parallel.Run(context.Background(), threads, len(joined.Columns), func(at int) error {
		c, like := &joined.Columns[at], &first.Columns[at]
		c.Name, c.Type = like.Name, like.Type
		c.Make(joined.rows)
		before := 0
		for _, p := range parts {
			if err := c.join(&p.Columns[at], before); err != nil {
				return err
			}
			before += p.rows
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return joined, nil
}

// join sets the cells of a part, before which there are so many rows.
func (c *Column) join(part *Column, before int) error {
	if part.Name != c.Name || part.Type != c.Type {
		return fault.Invalid("COLUMNS_DIFFER",
			"a part of the table has a column %.60q of %v, but other parts have %.60q of %v", part.Name, part.Type,
			c.Name, c.Type)
	}
	copy(c.Integers[min(before, len(c.Integers)):], part.Integers)
	copy(c.Numbers[min(before, len(c.Numbers)):], part.Numbers)
	copy(c.Texts[min(before, len(c.Texts)):], part.Texts)
	if part.Empty != nil {
		if c.Empty == nil {
			c.Empty = make([]bool, c.Len())
		}
		copy(c.Empty[before:], part.Empty)
	}
	return nil
}
