package multilevel

import "github.com/cleave-project/cleave/internal/data/dataset"

// Matrix is M and a on the vertices of a data set's graph:
//
//	M_ij = w_ij scale_i scale_j + further entries,   M_ii = diagonal_i
type Matrix struct {
	Graph    *dataset.Graph
	Scale    []float64 // nil means all 1
	Keep     []bool    // the vertices to include; nil means all
	Diagonal []float64 // nil means all 0
	Mass     []float64 // a_i, positive for every included vertex
	Entries  []dataset.Edge
	Apart    Pairs
	// Penalties of constraints, in addition to those in Entries.
	Penalties []Penalty
}

// Build returns the graph of the included vertices, and their numbers in ascending order, or nil if all are included.
// If the data set has all entries unchanged, the graph shares its memory.
func (m Matrix) Build() (g *Graph, kept []int32) {
	n := m.Graph.N
	number := make([]int32, n) // of each vertex among the included ones; -1 if it is not
	for i := range number {
		number[i] = -1
		if m.Keep == nil || m.Keep[i] {
			number[i] = int32(len(kept))
			kept = append(kept, int32(i))
		}
	}
	if len(kept) == n && m.Scale == nil && len(m.Entries) == 0 {
		return &Graph{
			Start: m.Graph.RowStart, Column: m.Graph.Column, Weight: m.Graph.Weight, Diagonal: m.Diagonal, Mass: m.Mass,
			Apart:     m.Apart,
			Penalties: newPenalties(n, m.Penalties),
		}, nil
	}
	more := m.further()
	g = &Graph{Start: make([]int64, len(kept)+1), Diagonal: make([]float64, len(kept)),
		Mass: make([]float64, len(kept))}
	place := make([]int64, len(kept)) // per neighbor: its index in g.Column plus 1, valid if it is in the current row
	for v, i := range kept {
		from := int64(len(g.Column))
		add := func(j int32, weight float64) {
			to := number[j]
			switch {
			case to < 0 || j == i:
			case place[to] > from:
				g.Weight[place[to]-1] += weight
			default:
				g.Column = append(g.Column, to)
				g.Weight = append(g.Weight, weight)
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
	g.Penalties = newPenalties(len(kept), penalties)
	if len(kept) == n {
		kept = nil
	}
	return g, kept
}

// further returns the further entries by row; each is in the rows of both its vertices.
func (m Matrix) further() map[int32][]dataset.Edge {
	rows := make(map[int32][]dataset.Edge, 2*len(m.Entries))
	for _, e := range m.Entries {
		rows[e.Source] = append(rows[e.Source], e)
		rows[e.Target] = append(rows[e.Target], dataset.Edge{Source: e.Target, Target: e.Source, Weight: e.Weight})
	}
	return rows
}
