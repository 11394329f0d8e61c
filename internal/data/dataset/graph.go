package dataset

import (
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// Graph is a symmetric affinity matrix in compressed rows: the neighbors of vertex i are
// Column[RowStart[i]:RowStart[i+1]], in ascending order, each at most once.
type Graph struct {
	N        int
	RowStart []int64
	Column   []int32
	Weight   []float64
}

// Kind implements Dataset.
func (g *Graph) Kind() Kind { return KindGraph }

// Rows implements Dataset.
func (g *Graph) Rows() int { return g.N }

// Row gives the neighbors of vertex i and the weights of the edges to them; both share their memory
// with the data set.
func (g *Graph) Row(i int) (neighbors []int32, weights []float64) {
	from, to := g.RowStart[i], g.RowStart[i+1]
	return g.Column[from:to:to], g.Weight[from:to:to]
}

// Diagonal is the weight of the loop at vertex i, 0 when it has none.
func (g *Graph) Diagonal(i int) float64 {
	neighbors, weights := g.Row(i)
	if at, found := slices.BinarySearch(neighbors, int32(i)); found {
		return weights[at]
	}
	return 0
}

// NewGraph makes the graph of n vertices from its edges; with n = 0 the largest vertex number tells how
// many there are. The weights of repeated edges, in either direction, are added in the order of the edges; an edge whose
// sum is exactly 0 stays.
func NewGraph(n int, edges []Edge) (*Graph, error) { return GraphOf(n, []Edges{EdgesOf(edges)}) }

// GraphOf is NewGraph of the edges of several lists. The lists are emptied on the way, so that their memory is free
// before the graph is complete.
func GraphOf(n int, lists []Edges) (*Graph, error) {
	if n == 0 && CountEdges(lists) == 0 {
		return nil, fault.Invalid("EMPTY_DATA", "the graph has no edges and no vertices")
	}
	if n < 0 || n > MaxRows {
		return nil, fault.Invalid("TOO_MANY_ROWS", "the graph has %d vertices; 1 to %d are supported", n, MaxRows)
	}
	n, err := checkEdges(n, lists)
	if err != nil {
		return nil, err
	}
	r := newRows(n, lists)
	if err := r.fill(lists); err != nil {
		return nil, err
	}
	return r.graph()
}
