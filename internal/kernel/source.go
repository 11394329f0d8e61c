package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// NumericClass names the bits that this build computes. All workers of a job must agree on it.
const NumericClass = "float32-v2"

// RowFetcher returns rows [from, to) of a given kernel matrix, row by row.
type RowFetcher func(ctx context.Context, from, to int) ([]float64, error)

// Source is what the tiles of one base matrix are made of.
type Source struct {
	spec   MatrixSpec
	points *pointSet
	graph  *dataset.Graph
	// weights are the graph's entries on the grid, parallel to graph.Column.
	weights  []float64
	rows     RowFetcher
	routines routines
	windows  sync.Pool // of *window
	columns  []int32   // 0..n-1
}

// NewSource makes the source of a matrix over points or a graph. A given kernel matrix is read through rows
// instead, so that a worker fetches only what its tiles need; data may then be nil.
func NewSource(spec MatrixSpec, data dataset.Dataset, rows RowFetcher) (*Source, error) {
	s := &Source{spec: spec, rows: rows, routines: detectRoutines(), columns: make([]int32, spec.Rows)}
	for j := range s.columns {
		s.columns[j] = int32(j)
	}
	switch data := data.(type) {
	case *dataset.Points:
		points, err := newPointSet(data, spec.Mean)
		if err != nil {
			return nil, err
		}
		s.points = points
	case *dataset.SparsePoints:
		points, err := newSparsePointSet(data, spec.Mean)
		if err != nil {
			return nil, err
		}
		s.points = points
	case *dataset.Graph:
		s.graph = data
		s.weights = graphWeights(spec, data)
	default:
		if spec.Function != Given || rows == nil {
			return nil, fmt.Errorf("kernel: no data for function %d", spec.Function)
		}
	}
	return s, nil
}

// GivenRows reads the rows of a kernel matrix that is in memory.
func GivenRows(k *dataset.Kernel) RowFetcher {
	return func(_ context.Context, from, to int) ([]float64, error) {
		return k.Values[from*k.N : to*k.N], nil
	}
}

// graphWeights puts a graph's weights on the grid. Where all of them are there already, as small whole numbers are, they
// are the graph's own, without a copy.
func graphWeights(spec MatrixSpec, g *dataset.Graph) []float64 {
	c := spec.Grid.rounder()
	if spec.Scale == nil && !slices.ContainsFunc(g.Weight, func(w float64) bool { return math.Float64bits((w+c)-c) != math.Float64bits(w) }) {
		return g.Weight
	}
	weights := make([]float64, len(g.Weight))
	for i := range g.N {
		for at := g.RowStart[i]; at < g.RowStart[i+1]; at++ {
			w := g.Weight[at]
			if spec.Scale != nil {
				w *= spec.Scale[i] * spec.Scale[g.Column[at]]
			}
			weights[at] = (w + c) - c
		}
	}
	return weights
}

// Rows is n.
func (s *Source) Rows() int { return s.spec.Rows }

// CanRecompute tells whether tiles need not be stored. Columns of points can be computed at any time; a given
// matrix would have to be fetched again, and a graph is in memory anyway.
func (s *Source) CanRecompute() bool { return s.points != nil }

// maxLanes is how many lanes there may be. A graph has one: its sweeps read little more than what the moves
// of a lane touch, so that lanes would have nothing to share.
func (s *Source) maxLanes() int {
	if s.graph != nil {
		return 1
	}
	return MaxLanes
}

// allColumns returns the numbers of all columns.
func (s *Source) allColumns() []int32 { return s.columns }

// diagonalEntry is k(x_i, x_i) a_i^2 before rounding.
func (s *Source) diagonalEntry(i int) float64 {
	v := s.spec.entry(s.points.norms[i], s.points.norms[i], s.points.norms[i])
	if s.spec.Scale != nil {
		v *= s.spec.Scale[i] * s.spec.Scale[i]
	}
	return v
}
