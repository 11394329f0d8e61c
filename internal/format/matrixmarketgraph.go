package format

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// readMatrixMarketGraph reads the affinity matrix of a graph as edges.
//
// A file of kind "symmetric" lists each edge once. One of kind "general" whose matrix is symmetric lists
// each edge in both directions, of which one is kept. In any other file every entry is an edge, and
// repeated edges add their weights.
func readMatrixMarketGraph(s *source, vertices int) ([]dataset.Edges, int, error) {
	m, err := openMatrixMarket(s)
	switch {
	case err != nil:
		return nil, 0, err
	case !m.coordinate:
		return nil, 0, m.source.invalid("UNSUPPORTED_MATRIX", "a graph must be in coordinate form; give a dense array as a kernel matrix")
	case m.rows != m.columns:
		return nil, 0, m.source.invalid("NOT_SQUARE", "the matrix has %d rows and %d columns; a graph's is square", m.rows, m.columns)
	case vertices > 0 && vertices != m.rows:
		return nil, 0, m.source.invalid("SIZE_MISMATCH", "the matrix has %d rows, but %d vertices were asked for", m.rows, vertices)
	}
	entries, err := m.coordinates()
	if err != nil {
		return nil, 0, err
	}
	if !m.symmetric {
		edges := withoutMirrorImages(slices.AppendSeq(make([]dataset.Edge, 0, dataset.CountEdges(entries)), dataset.EachEdge(entries)))
		entries = []dataset.Edges{dataset.EdgesOf(edges)}
	}
	return entries, m.rows, nil
}

// mirrorTolerance is how far the weights of an edge in its two directions may differ, relative to the
// largest weight, and still count as equal.
const mirrorTolerance = 1e-9

// withoutMirrorImages keeps one direction of each edge if all edges come in both directions with the
// same weight, and everything otherwise. The edges are sorted in place.
func withoutMirrorImages(edges []dataset.Edge) []dataset.Edge {
	ends := func(e dataset.Edge) uint64 {
		return uint64(min(e.Source, e.Target))<<32 | uint64(max(e.Source, e.Target))
	}
	slices.SortFunc(edges, func(a, b dataset.Edge) int {
		if byEnds := cmp.Compare(ends(a), ends(b)); byEnds != 0 {
			return byEnds
		}
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Weight, b.Weight))
	})
	largest := 0.0
	for _, e := range edges {
		largest = math.Max(largest, math.Abs(e.Weight))
	}
	for from := 0; from < len(edges); {
		upMinusDown := 0.0
		to := from
		for ; to < len(edges) && sameEnds(edges[from], edges[to]); to++ {
			switch e := edges[to]; {
			case e.Source < e.Target:
				upMinusDown += e.Weight
			case e.Source > e.Target:
				upMinusDown -= e.Weight
			}
		}
		if math.Abs(upMinusDown) > mirrorTolerance*largest {
			return edges
		}
		from = to
	}
	return slices.DeleteFunc(edges, func(e dataset.Edge) bool { return e.Source > e.Target })
}

func sameEnds(a, b dataset.Edge) bool {
	return a.Source == b.Source && a.Target == b.Target || a.Source == b.Target && a.Target == b.Source
}
