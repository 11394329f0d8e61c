package multilevel

import "github.com/cleave-project/cleave/internal/data/dataset"

// Matrix is M and a on the vertices of a data set's graph:
//
//	M_ij = w_ij scale_i scale_j + further entries,   M_ii = diagonal_i
type Matrix struct {
	Graph    *dataset.Graph
	Scale    []float64 // nil: all 1
	Keep     []bool    // the vertices that take part; nil: all
	Diagonal []float64 // nil: all 0
	Mass     []float64 // a_i, above 0 where a vertex takes part
	Entries  []dataset.Edge
	Apart    Pairs
	// Penalties of constraints, beside those within the entries.
	Penalties []Penalty
}

// Build makes the graph of the vertices that take part, and lists them; nil: all do. It shares the memory of the data set
// where that has all entries as they are.
func (m Matrix) Build() (g *Graph, kept []int32) {
	n := m.Graph.N
	number := make([]int32, n) // of each vertex among those that take part
	for i := range number {
		if number[i] = -1; m.Keep == nil || m.Keep[i] {
			number[i] = int32(len(kept))
			kept = append(kept, int32(i))
		}
	}
	if len(kept) == n && m.Scale == nil && len(m.Entries) == 0 {
		return &Graph{
			Start: m.Graph.RowStart, Column: m.Graph.Column, Weight: m.Graph.Weight, Diagonal: m.Diagonal, Mass: m.Mass, Apart: m.Apart,
			Penalties: NewPenalties(n, m.Penalties),
		}, nil
	}
	more := m.further()
	g = &Graph{Start: make([]int64, len(kept)+1), Diagonal: make([]float64, len(kept)), Mass: make([]float64, len(kept))}
	place := make([]int64, len(kept)) // in the rows made so far, counted from 1: of a neighbor in the row that is being made
	for v, i := range kept {
		from := int64(len(g.Column))
		add := func(j int32, weight float64) {
			to := number[j]
			switch {
			case to < 0 || j == i:
			case place[to] > from:
				g.Weight[place[to]-1] += weight
			default:
				g.Column, g.Weight = append(g.Column, to), append(g.Weight, weight)
				place[to] = int64(len(g.Column))
			}
		}
		neighbors, weights := m.Graph.Row(int(i))
		for at, j := range neighbors {
			if m.Scale == nil {
				add(j, weights[at])
			} else {
				add(j, float64(float64(weights[at]*m.Scale[i])*m.Scale[j]))
			}
		}
		for _, e := range more[i] {
			add(e.Target, e.Weight)
		}
		g.Start[v+1], g.Mass[v] = int64(len(g.Column)), m.Mass[i]
		if m.Diagonal != nil {
			g.Diagonal[v] = m.Diagonal[i]
		}
	}
	for _, pair := range m.Apart {
		if a, b := number[pair[0]], number[pair[1]]; a >= 0 && b >= 0 {
			g.Apart = append(g.Apart, [2]int32{a, b})
		}
	}
	var penalties []Penalty
	for _, p := range m.Penalties {
		if a, b := number[p.A], number[p.B]; a >= 0 && b >= 0 {
			penalties = append(penalties, Penalty{a, b, p.Weight})
		}
	}
	g.Penalties = NewPenalties(len(kept), penalties)
	if len(kept) == n {
		kept = nil
	}
	return g, kept
}

// further are the further entries by their rows, each in both.
func (m Matrix) further() map[int32][]dataset.Edge {
	rows := make(map[int32][]dataset.Edge, 2*len(m.Entries))
	for _, e := range m.Entries {
		rows[e.Source] = append(rows[e.Source], e)
		rows[e.Target] = append(rows[e.Target], dataset.Edge{Source: e.Target, Target: e.Source, Weight: e.Weight})
	}
	return rows
}

// Pick is the values of the vertices that are kept; nil: all are.
func Pick[T any](values []T, kept []int32) []T {
	if kept == nil {
		return append([]T(nil), values...)
	}
	picked := make([]T, len(kept))
	for at, i := range kept {
		picked[at] = values[i]
	}
	return picked
}

// Numbers gives the vertices that are kept (nil: all of n) numbers from 0 on, the same where they have the same group, and
// tells how many there are.
func Numbers(kept []int32, n int, group func(i int32) int32) (numbers []int32, count int) {
	of := map[int32]int32{}
	if kept != nil {
		n = len(kept)
	}
	numbers = make([]int32, n)
	for at := range numbers {
		i := int32(at)
		if kept != nil {
			i = kept[at]
		}
		g := group(i)
		if _, known := of[g]; !known {
			of[g] = int32(len(of))
		}
		numbers[at] = of[g]
	}
	return numbers, len(of)
}
