// Package tabletest makes tables for tests.
package tabletest

import (
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
)

// Constraints makes a table that table.Constraints reads as list.
func Constraints(list []constraint.Constraint) *table.Table {
	i := integers("i", len(list))
	j := integers("j", len(list))
	kind := make([]string, len(list))
	weight := numbers("weight", len(list))
	for at, c := range list {
		i.Integers[at], j.Integers[at], kind[at] = int64(c.I), int64(c.J), c.Kind.String()
		weight.Numbers[at], weight.Empty[at] = c.Weight, !c.Weighted
	}
	return made(i, j, table.Column{Name: "kind", Type: table.Text, Texts: kind}, weight)
}

// Seeds makes a table that table.Seeds reads as list.
func Seeds(list []constraint.Seed) *table.Table {
	index := integers("index", len(list))
	label := integers("label", len(list))
	probability := numbers("probability", len(list))
	for at, s := range list {
		index.Integers[at], label.Integers[at] = int64(s.Index), int64(s.Label)
		probability.Numbers[at], probability.Empty[at] = s.Probability, s.Probability == 0
	}
	return made(index, label, probability)
}

// Weights makes a table with a weight for each point.
func Weights(weights []float64) *table.Table {
	return made(upTo(len(weights)), table.Column{Name: "weight", Type: table.Number, Numbers: weights})
}

// Labels makes a table with a label for each point.
func Labels[L int32 | int64](labels []L) *table.Table {
	label := integers("label", len(labels))
	for at, l := range labels {
		label.Integers[at] = int64(l)
	}
	return made(upTo(len(labels)), label)
}

// Indices makes a table that table.Indices reads as list.
func Indices(list []int32) *table.Table {
	index := integers("index", len(list))
	for at, i := range list {
		index.Integers[at] = int64(i)
	}
	return made(index)
}

func integers(name string, rows int) table.Column {
	return table.Column{Name: name, Type: table.Integer, Integers: make([]int64, rows)}
}

func numbers(name string, rows int) table.Column {
	return table.Column{Name: name, Type: table.Number, Numbers: make([]float64, rows), Empty: make([]bool, rows)}
}

// upTo returns a column of the numbers of all points.
func upTo(points int) table.Column {
	index := integers("index", points)
	for at := range index.Integers {
		index.Integers[at] = int64(at)
	}
	return index
}

// made also makes invalid tables, for tests that send them.
func made(columns ...table.Column) *table.Table {
	t := &table.Table{Columns: columns}
	_ = t.Check()
	return t
}
