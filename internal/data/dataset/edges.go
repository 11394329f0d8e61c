package dataset

import (
	"context"
	"iter"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// Edge is one undirected edge. An edge from a vertex to itself is one entry on the diagonal.
type Edge struct {
	Source, Target int32
	Weight         float64
}

// Edges are edges column by column. Those whose weights are all 1 take half the memory of a slice of Edge.
type Edges struct {
	Source, Target []int32
	Weight         []float64 // nil: all are 1
}

// Len is the number of edges.
func (e *Edges) Len() int { return len(e.Source) }

// weight is that of one edge.
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
	e.Source, e.Target = append(e.Source, source), append(e.Target, target)
}

// EdgesOf are the same edges column by column.
func EdgesOf(edges []Edge) Edges {
	columns := Edges{Source: make([]int32, 0, len(edges)), Target: make([]int32, 0, len(edges))}
	for _, e := range edges {
		columns.Append(e.Source, e.Target, e.Weight)
	}
	return columns
}

// CountEdges is how many edges some lists have together.
func CountEdges(lists []Edges) int {
	count := 0
	for at := range lists {
		count += lists[at].Len()
	}
	return count
}

// EachEdge yields the edges of some lists.
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
	first, largest := make([]int, len(lists)), make([]int32, len(lists))
	for at := 1; at < len(lists); at++ {
		first[at] = first[at-1] + lists[at-1].Len()
	}
	threads := threadsFor(count)
	err := parallel.NewPool(threads).Run(context.Background(), threads, len(lists), func(at int) (err error) {
		largest[at], err = lists[at].check(n, first[at])
		return err
	})
	if err != nil || n > 0 {
		return n, err
	}
	if most := slices.Max(largest); int(most) < MaxInferredVertices(count) {
		return int(most) + 1, nil
	} else {
		return 0, fault.Invalid("TOO_MANY_VERTICES",
			"vertex %d is named by a graph of only %d edges; if that is meant, give the number of vertices", most, count)
	}
}

// check checks the edges of one list, the first of which is edge number first of all, and returns the largest vertex.
func (e *Edges) check(n, first int) (largest int32, err error) {
	largest = -1
	for at, source := range e.Source {
		target := e.Target[at]
		if w := e.weight(at); !finite(w) {
			return 0, fault.Invalid("NOT_FINITE", "edge %d (%d-%d) has weight %v; weights must be finite numbers", first+at, source, target, w)
		}
		low, high := min(source, target), max(source, target)
		if low < 0 || n > 0 && int(high) >= n {
			return 0, fault.Invalid("INDEX_OUT_OF_RANGE", "edge %d (%d-%d) names a vertex outside 0..%d", first+at, low, high, n-1)
		}
		largest = max(largest, high)
	}
	return largest, nil
}

// MaxInferredVertices is how many vertices a graph with this number of edges may have if the number of
// vertices was not given. A vertex costs memory even without edges, so one mistyped number could ask for gigabytes.
func MaxInferredVertices(edges int) int { return max(1<<22, 64*edges) }
