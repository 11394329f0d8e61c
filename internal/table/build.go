package table

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// FromConstraints is the table that Constraints reads so.
func FromConstraints(list []constraint.Constraint) *Table {
	i, j, kind := integers("i", len(list)), integers("j", len(list)), Column{Name: "kind", Type: Text, Texts: make([]string, len(list))}
	weight := numbers("weight", len(list))
	for at, c := range list {
		i.Integers[at], j.Integers[at], kind.Texts[at] = int64(c.I), int64(c.J), c.Kind.String()
		weight.set(at, c.Weight, c.Weighted)
	}
	return made(i, j, kind, weight)
}

// FromSeeds is the table that Seeds reads so.
func FromSeeds(list []clustering.Seed) *Table {
	index, label, probability := integers("index", len(list)), integers("label", len(list)), numbers("probability", len(list))
	for at, s := range list {
		index.Integers[at], label.Integers[at] = int64(s.Index), int64(s.Label)
		probability.set(at, s.Probability, s.Probability != 0)
	}
	return made(index, label, probability)
}

// FromWeights is the table of a weight for each point.
func FromWeights(weights []float64) *Table {
	return made(upTo(len(weights)), Column{Name: "weight", Type: Number, Numbers: weights})
}

// FromLabels is the table of a label for each point.
func FromLabels[L int32 | uint32 | int64](labels []L) *Table {
	label := integers("label", len(labels))
	for at, l := range labels {
		label.Integers[at] = int64(l)
	}
	return made(upTo(len(labels)), label)
}

// FromBeliefs is the table that Beliefs reads so.
func FromBeliefs(list []cut.Belief) *Table {
	i, j, belief := integers("i", len(list)), integers("j", len(list)), numbers("belief", len(list))
	for at, b := range list {
		i.Integers[at], j.Integers[at], belief.Numbers[at] = int64(b.I), int64(b.J), b.Value
	}
	return made(i, j, belief)
}

// FromIndices is the table that Indices reads so.
func FromIndices(list []int32) *Table {
	index := integers("index", len(list))
	for at, i := range list {
		index.Integers[at] = int64(i)
	}
	return made(index)
}

func integers(name string, rows int) Column {
	return Column{Name: name, Type: Integer, Integers: make([]int64, rows)}
}

func numbers(name string, rows int) Column {
	return Column{Name: name, Type: Number, Numbers: make([]float64, rows)}
}

// upTo is a column of all points.
func upTo(points int) Column {
	index := integers("index", points)
	for at := range index.Integers {
		index.Integers[at] = int64(at)
	}
	return index
}

// set puts a number into a cell, or leaves it empty.
func (c *Column) set(row int, value float64, given bool) {
	if given {
		c.Numbers[row] = value
		return
	}
	if c.Empty == nil {
		c.Empty = make([]bool, len(c.Numbers))
	}
	c.Empty[row] = true
}

// made is a table of columns of equal length. A column that is empty everywhere is left out.
func made(columns ...Column) *Table {
	return &Table{rows: columns[0].Len(), Columns: slices.DeleteFunc(columns, func(c Column) bool {
		return c.Empty != nil && !slices.Contains(c.Empty, false)
	})}
}

// pointColumns are those that name points.
var pointColumns = map[string]bool{"i": true, "j": true, "index": true}

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
	for row := range t.rows {
		keep := len(about) > 0 || place[row] >= 0
		for _, c := range about {
			index, err := c.index(row, len(place))
			if err != nil {
				return nil, err
			}
			keep = keep && place[index] >= 0
		}
		if keep {
			rows = append(rows, row)
		}
	}
	kept := &Table{Columns: make([]Column, len(t.Columns)), rows: len(rows)}
	for at := range t.Columns {
		c := &t.Columns[at]
		few := Column{
			Name: c.Name, Type: c.Type,
			Integers: pickRows(c.Integers, rows), Numbers: pickRows(c.Numbers, rows), Texts: pickRows(c.Texts, rows), Empty: pickRows(c.Empty, rows),
		}
		if pointColumns[c.Name] {
			for row, v := range few.Integers {
				few.Integers[row] = int64(place[v])
			}
		}
		kept.Columns[at] = few
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
