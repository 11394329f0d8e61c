package dataset

import (
	"context"
	"iter"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
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

// Row returns the neighbors of vertex i and the weights of the edges to them. Both share memory with the
// data set.
func (g *Graph) Row(i int) (neighbors []int32, weights []float64) {
	from, to := g.RowStart[i], g.RowStart[i+1]
	return g.Column[from:to:to], g.Weight[from:to:to]
}

// NewGraph makes a graph of n vertices; if n is 0, the largest vertex number determines n. It adds up the weights of
// repeated edges, in either direction, in the order of the edges. An edge whose weights sum to 0 stays.
func NewGraph(n int, edges []Edge) (*Graph, error) { return GraphOf(n, []Edges{EdgesOf(edges)}) }

// GraphOf makes a graph as NewGraph does, from several lists of edges. It empties the lists to free their memory before
// the graph is complete.
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
	r := newGraphBuilder(n, lists)
	if err := r.fill(lists); err != nil {
		return nil, err
	}
	return r.graph()
}

// Edge is an undirected edge. An edge from a vertex to itself is one entry on the diagonal.
type Edge struct {
	Source, Target int32
	Weight         float64
}

// Edges holds edges column by column. If all weights are 1, it takes half the memory of a slice of Edge.
type Edges struct {
	Source, Target []int32
	Weight         []float64 // nil if all are 1
}

// Len returns the number of edges.
func (e *Edges) Len() int { return len(e.Source) }

func (e *Edges) weight(at int) float64 {
	if e.Weight == nil {
		return 1
	}
	return e.Weight[at]
}

// Append adds an edge.
func (e *Edges) Append(source, target int32, weight float64) {
	if weight != 1 && e.Weight == nil {
		e.Weight = make([]float64, len(e.Source), cap(e.Source))
		for at := range e.Weight {
			e.Weight[at] = 1
		}
	}
	if e.Weight != nil {
		e.Weight = append(e.Weight, weight)
	}
	e.Source = append(e.Source, source)
	e.Target = append(e.Target, target)
}

// EdgesOf converts a list of edges.
func EdgesOf(edges []Edge) Edges {
	columns := Edges{Source: make([]int32, 0, len(edges)), Target: make([]int32, 0, len(edges))}
	for _, e := range edges {
		columns.Append(e.Source, e.Target, e.Weight)
	}
	return columns
}

// CountEdges returns the number of edges of all lists.
func CountEdges(lists []Edges) int {
	count := 0
	for at := range lists {
		count += lists[at].Len()
	}
	return count
}

// EachEdge yields the edges of all lists in order.
func EachEdge(lists []Edges) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for _, e := range lists {
			for at := range e.Source {
				if !yield(Edge{Source: e.Source[at], Target: e.Target[at], Weight: e.weight(at)}) {
					return
				}
			}
		}
	}
}

// checkEdges checks all edges and returns the number of vertices.
func checkEdges(n int, lists []Edges) (int, error) {
	count := CountEdges(lists)
	first := make([]int, len(lists))
	largest := make([]int32, len(lists))
	for at := 1; at < len(lists); at++ {
		first[at] = first[at-1] + lists[at-1].Len()
	}
	threads := threadsFor(count)
	err := parallel.Run(context.Background(), threads, len(lists), func(at int) (err error) {
		largest[at], err = lists[at].check(n, first[at])
		return err
	})
	if err != nil || n > 0 {
		return n, err
	}
	most := slices.Max(largest)
	if int(most) >= MaxInferredVertices(count) {
		return 0, fault.Invalid("TOO_MANY_VERTICES",
			"an edge names vertex %d, but the graph has only %d edges; if this is intended, set the number of vertices",
			most, count)
	}
	return int(most) + 1, nil
}

// check checks the edges of a list and returns the largest vertex. first is the number of the list's first edge, for
// errors.
func (e *Edges) check(n, first int) (largest int32, err error) {
	largest = -1
	for at, source := range e.Source {
		target := e.Target[at]
		if w := e.weight(at); !finite(w) {
			return 0, fault.Invalid("NOT_FINITE", "edge %d (%d-%d) has weight %v; weights must be finite numbers",
				first+at, source, target, w)
		}
		low, high := min(source, target), max(source, target)
		if low < 0 || n > 0 && int(high) >= n {
			return 0, fault.Invalid("INDEX_OUT_OF_RANGE", "edge %d (%d-%d) names a vertex outside 0..%d", first+at,
				low, high, n-1)
		}
		largest = max(largest, high)
	}
	return largest, nil
}

// MaxInferredVertices returns how many vertices a graph with this number of edges may have if the number of vertices
// was not given. A vertex takes memory even without edges, so a single mistyped number could ask for gigabytes.
func MaxInferredVertices(edges int) int { return max(1<<22, 64*edges) }
