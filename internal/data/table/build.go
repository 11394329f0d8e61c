package table

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// FromBeliefs is the table of beliefs.
func FromBeliefs(list []constraint.Belief) *Table {
	i, j, belief := make([]int64, len(list)), make([]int64, len(list)), make([]float64, len(list))
	for at, b := range list {
		i[at], j[at], belief[at] = int64(b.I), int64(b.J), b.Value
	}
	return &Table{rows: len(list), Columns: []Column{
		{Name: "i", Type: Integer, Integers: i}, {Name: "j", Type: Integer, Integers: j}, {Name: "belief", Type: Number, Numbers: belief},
	}}
}

// Keep is the rows about points that are kept, with the points numbered anew: place is the new number of
// each point, negative when it is not kept. A table that names no points has a row for each, in order.
func (t *Table) Keep(place []int32) (*Table, error) {
	var about []*Column
	for at := range t.Columns {
		if c := &t.Columns[at]; pointColumns[c.Name] && c.Type == Integer {
			about = append(about, c)
		}
	}
	if len(about) == 0 && t.rows != len(place) {
		return nil, fault.Invalid("SIZE_MISMATCH", "the table has %d rows for %d points; each needs one", t.rows, len(place))
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

// pickRows are some of the cells; no cells stay none.
func pickRows[T any](cells []T, rows []int) []T {
	if cells == nil {
		return nil
	}
	few := make([]T, len(rows))
	for at, row := range rows {
		few[at] = cells[row]
	}
	return few
}

// FromConstraints is the table of constraints.
func FromConstraints(list []constraint.Constraint) *Table {
	i, j := Column{Name: "i", Type: Integer}, Column{Name: "j", Type: Integer}
	kind, weight := Column{Name: "kind", Type: Text}, Column{Name: "weight", Type: Number, Empty: make([]bool, len(list))}
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
