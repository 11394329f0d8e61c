package dataset

import (
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// Edge is one undirected edge. An edge from a vertex to itself is one entry on the diagonal.
type Edge struct {
	Source, Target int32
	Weight         float64
}

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
// many there are. The weights of repeated edges, in either direction, are added; an edge whose sum is
// exactly 0 stays. The slice of edges is sorted in place.
func NewGraph(n int, edges []Edge) (*Graph, error) {
	if len(edges) == 0 && n == 0 {
		return nil, fault.Invalid("EMPTY_DATA", "the graph has no edges and no vertices")
	}
	if n < 0 || n > MaxRows {
		return nil, fault.Invalid("TOO_MANY_ROWS", "the graph has %d vertices; 1 to %d are supported", n, MaxRows)
	}
	n, err := checkEdges(n, edges)
	if err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(edges, compareEdges) {
		slices.SortStableFunc(edges, compareEdges)
	}
	edges = mergeEdges(edges)
	for _, e := range edges {
		if !finite(e.Weight) {
			return nil, fault.Invalid("NOT_FINITE", "the weights of edge %d-%d add up to %v", e.Source, e.Target, e.Weight)
		}
	}
	return fromSortedEdges(n, edges), nil
}

// checkEdges orders the ends of each edge, checks all edges, and returns the number of vertices.
func checkEdges(n int, edges []Edge) (int, error) {
	largest := int32(-1)
	for at := range edges {
		e := &edges[at]
		if !finite(e.Weight) {
			return 0, fault.Invalid("NOT_FINITE", "edge %d (%d-%d) has weight %v; weights must be finite numbers", at, e.Source, e.Target, e.Weight)
		}
		if e.Source > e.Target {
			e.Source, e.Target = e.Target, e.Source
		}
		if e.Source < 0 || (n > 0 && int(e.Target) >= n) {
			return 0, fault.Invalid("INDEX_OUT_OF_RANGE", "edge %d (%d-%d) names a vertex outside 0..%d", at, e.Source, e.Target, n-1)
		}
		largest = max(largest, e.Target)
	}
	if n > 0 {
		return n, nil
	}
	if int(largest) >= MaxInferredVertices(len(edges)) {
		return 0, fault.Invalid("TOO_MANY_VERTICES",
			"vertex %d is named by a graph of only %d edges; if that is meant, give the number of vertices", largest, len(edges))
	}
	return int(largest) + 1, nil
}

// MaxInferredVertices is how many vertices a graph with this number of edges may have if the number of
// vertices was not given. A vertex costs memory even without edges, so one mistyped number could ask for gigabytes.
func MaxInferredVertices(edges int) int { return max(1<<22, 64*edges) }

func compareEdges(a, b Edge) int {
	if a.Source != b.Source {
		return int(a.Source) - int(b.Source)
	}
	return int(a.Target) - int(b.Target)
}

// mergeEdges merges repeated edges, which are adjacent after sorting, and adds their weights in the
// order in which they were given.
func mergeEdges(edges []Edge) []Edge {
	merged := edges[:0]
	for _, e := range edges {
		if last := len(merged) - 1; last >= 0 && merged[last].Source == e.Source && merged[last].Target == e.Target {
			merged[last].Weight += e.Weight
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

// fromSortedEdges enters both directions of every edge into the rows. Row i needs its neighbors in
// ascending order: first the smaller ones, from edges whose Target is i, then the larger ones.
func fromSortedEdges(n int, edges []Edge) *Graph {
	g := &Graph{N: n, RowStart: make([]int64, n+1)}
	for _, e := range edges {
		g.RowStart[e.Source+1]++
		if e.Source != e.Target {
			g.RowStart[e.Target+1]++
		}
	}
	for i := range n {
		g.RowStart[i+1] += g.RowStart[i]
	}
	g.Column = make([]int32, g.RowStart[n])
	g.Weight = make([]float64, g.RowStart[n])
	next := slices.Clone(g.RowStart[:n])
	put := func(row, column int32, weight float64) {
		g.Column[next[row]], g.Weight[next[row]] = column, weight
		next[row]++
	}
	for _, e := range edges { // smaller neighbors
		if e.Source != e.Target {
			put(e.Target, e.Source, e.Weight)
		}
	}
	for _, e := range edges { // larger neighbors, and loops
		put(e.Source, e.Target, e.Weight)
	}
	return g
}
