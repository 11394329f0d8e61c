// Package multilevel clusters the vertices of a graph from coarse to fine levels (Dhillon, Guan and Kulis 2007):
// vertices are merged in pairs until few are left, the coarsest graph is clustered in several ways, and the best labels
// are refined on every level on the way back. It maximizes the association of weighted kernel k-means,
//
//	Q = sum_c M_cc / s_c,   M_cc = sum over i, j in c of M_ij,   s_c = sum over i in c of a_i,
//
// which is normalized cut, ratio cut or ratio association, with or without constraints, depending on M and a (Kulis2009
// Table 3). Merged vertices add up their entries and weights, so labels of a coarse graph have the same Q there as on
// the graph itself.
package multilevel

// Graph is a symmetric matrix M in compressed rows, with a weight for each vertex. The neighbors of v are
// Column[Start[v]:Start[v+1]], in any order, each at most once. Entries of v with itself count only in Diagonal; those
// in a row are ignored.
type Graph struct {
	Start    []int64
	Column   []int32
	Weight   []float64
	Diagonal []float64 // M_vv; nil means all 0
	Mass     []float64 // a_v, positive
	Apart    Pairs     // pairs of vertices that are never merged
	// Penalties are subtracted from Q; see labeling.value.
	Penalties Penalties
}

// Rows returns the number of vertices.
func (g *Graph) Rows() int { return len(g.Mass) }

// Entries returns the number of entries in all rows.
func (g *Graph) Entries() int64 { return g.Start[g.Rows()] }

// row returns the neighbors of a vertex and their entries of M.
func (g *Graph) row(v int32) ([]int32, []float64) {
	from, to := g.Start[v], g.Start[v+1]
	return g.Column[from:to:to], g.Weight[from:to:to]
}

// diagonal returns M_vv.
func (g *Graph) diagonal(v int32) float64 {
	if g.Diagonal == nil {
		return 0
	}
	return g.Diagonal[v]
}

// mass returns the sum of all weights.
func (g *Graph) mass() float64 {
	total := 0.0
	for _, a := range g.Mass {
		total += a
	}
	return total
}

// Pairs are unordered pairs of vertices.
type Pairs [][2]int32

// merged renumbers the pairs after vertices were merged, and drops pairs within one merged vertex.
func (p Pairs) merged(into []int32) Pairs {
	var pairs Pairs
	for _, pair := range p {
		if a, b := into[pair[0]], into[pair[1]]; a != b {
			pairs = append(pairs, [2]int32{a, b})
		}
	}
	return pairs
}

// lists returns the partners of each vertex that is in a pair.
func (p Pairs) lists() map[int32][]int32 {
	lists := make(map[int32][]int32, 2*len(p))
	for _, pair := range p {
		lists[pair[0]] = append(lists[pair[0]], pair[1])
		lists[pair[1]] = append(lists[pair[1]], pair[0])
	}
	return lists
}
