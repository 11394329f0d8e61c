package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// ReadMatrixMarketGraph reads an affinity matrix as edges. A "symmetric" file lists each edge once. A "general" file
// whose matrix is symmetric lists each edge in both directions, of which one is kept. In any other file every entry is
// an edge, and the weights of repeated edges are added.
func ReadMatrixMarketGraph(s *scan.Source, vertices int) (*Graph, error) {
	m, err := array.OpenMatrixMarket(s)
	if err != nil {
		return nil, err
	}
	if !m.Coordinate {
		return nil, s.Invalid("UNSUPPORTED_MATRIX",
			"a graph must be in coordinate form; to use a dense array, pass it with --kernel-matrix")
	}
	if err := checkSize(s, m.Rows, m.Columns, vertices); err != nil {
		return nil, err
	}
	entries, err := m.Coordinates()
	if err != nil {
		return nil, err
	}
	if !m.Symmetric {
		edges := withoutMirrorImages(slices.AppendSeq(make([]dataset.Edge, 0, dataset.CountEdges(entries)),
			dataset.EachEdge(entries)))
		entries = []dataset.Edges{dataset.EdgesOf(edges)}
	}
	return &Graph{Edges: entries, Vertices: m.Rows}, nil
}

// ReadNPZ reads an affinity matrix that SciPy saved, by the same rules as for "general" Matrix Market files.
func ReadNPZ(s *scan.Source, vertices int) (*Graph, error) {
	rows, entries, err := array.ReadSparseEntries(s, func(rows, columns int) error {
		return checkSize(s, rows, columns, vertices)
	})
	if err != nil {
		return nil, err
	}
	return &Graph{Edges: []dataset.Edges{dataset.EdgesOf(withoutMirrorImages(entries))}, Vertices: rows}, nil
}

// checkSize refuses a matrix that is not that of a graph with the given number of vertices, any if it is 0.
func checkSize(s *scan.Source, rows, columns, vertices int) error {
	if rows != columns {
		return s.Invalid("NOT_SQUARE", "the matrix has %d rows and %d columns; the matrix of a graph must be square",
			rows, columns)
	}
	if vertices > 0 && vertices != rows {
		return s.Invalid("SIZE_MISMATCH", "the matrix has %d rows, but the number of vertices was set to %d",
			rows, vertices)
	}
	return nil
}

// mirrorTolerance is how far the weights of an edge in its two directions may differ, relative to the largest weight,
// and still count as equal.
const mirrorTolerance = 1e-9

// withoutMirrorImages keeps one direction of each edge if all edges are present in both directions with the same
// weight, and all edges otherwise. It sorts edges in place.
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
		for ; to < len(edges) && ends(edges[from]) == ends(edges[to]); to++ {
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
