package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/partition"
)

// NumericClass names the bits this build computes; workers of one job must agree on it.
const NumericClass = "float32-v1"

// RowFetcher gives rows [from, to) of a given kernel matrix, row by row.
type RowFetcher func(ctx context.Context, from, to int) ([]float64, error)

// Source makes the tiles of one base matrix.
type Source struct {
	spec   Spec
	points *pointSet
	graph  *dataset.Graph
	// weights are the graph's entries on the grid, parallel to graph.Column.
	weights []float64
	rows    RowFetcher
}

// NewSource makes the source of a matrix over points or a graph; a given kernel matrix is read
// through rows, so that a worker fetches only what its tiles need, and data may be nil.
func NewSource(spec Spec, data dataset.Dataset, rows RowFetcher) (*Source, error) {
	s := &Source{spec: spec, rows: rows}
	switch data := data.(type) {
	case *dataset.Points:
		points, err := newPointSet(data, spec.Mean)
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

// graphWeights puts a graph's weights on the grid.
func graphWeights(spec Spec, g *dataset.Graph) []float64 {
	weights := make([]float64, len(g.Weight))
	c := spec.Grid.rounder()
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

// TileBytes is the memory that one base tile takes. Graph tiles share the graph itself.
func (s *Source) TileBytes(tile int) int64 {
	if s.graph != nil {
		return 0
	}
	return DenseTileBytes(s.spec.Rows, tile)
}

// DenseTileBytes is the memory of one float32 tile of n columns.
func DenseTileBytes(n, tile int) int64 {
	return 4 * int64(n) * int64(partition.Tile(n, tile).Len())
}

// tile builds one base tile.
func (s *Source) tile(ctx context.Context, number int) (matrix, error) {
	rows := partition.Tile(s.spec.Rows, number)
	if s.graph != nil {
		return &graphTile{source: s, rows: rows}, nil
	}
	t := &denseTile{rows: rows, n: s.spec.Rows, height: rows.Len(), entries: make([]float32, rows.Len()*s.spec.Rows)}
	if s.points != nil {
		return t, s.fillFromPoints(ctx, t)
	}
	return t, s.fillFromRows(ctx, t)
}

// columnsBetweenChecks is how many columns are built between looks at the context.
const columnsBetweenChecks = 64

func (s *Source) fillFromPoints(ctx context.Context, t *denseTile) error {
	packed := s.points.pack(t.rows.From, t.rows.To)
	norms := s.points.norms[t.rows.From:t.rows.To]
	values := make([]float64, len(packed)/s.points.d)
	for j := range t.n {
		if j%columnsBetweenChecks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		products(values, packed, s.points.row(j))
		s.spec.entries(values[:t.height], norms, s.points.norms[j])
		if err := s.store(t, j, values[:t.height]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) fillFromRows(ctx context.Context, t *denseTile) error {
	given, err := s.rows(ctx, t.rows.From, t.rows.To)
	if err != nil {
		return err
	}
	if len(given) != t.height*t.n {
		return fmt.Errorf("kernel: got %d values for %d rows of %d", len(given), t.height, t.n)
	}
	values := make([]float64, t.height)
	for j := range t.n {
		for r := range values {
			values[r] = given[r*t.n+j]
		}
		if err := s.store(t, j, values); err != nil {
			return err
		}
	}
	return nil
}

// store puts kernel values into column j: weighted, rounded once to float32 and to the grid.
func (s *Source) store(t *denseTile, j int, values []float64) error {
	if scale := s.spec.Scale; scale != nil {
		for r := range values {
			values[r] *= scale[t.rows.From+r] * scale[j]
		}
	}
	column, c := t.column(j), s.spec.Grid.rounder()
	for r, v := range values {
		column[r] = float32((float64(float32(v)) + c) - c)
	}
	if s.spec.ZeroDiagonal && j >= t.rows.From && j < t.rows.To {
		column[j-t.rows.From] = 0
	}
	for r, v := range column {
		if v-v != 0 { // infinite or not a number
			return outOfRange(t.rows.From+r, j, values[r])
		}
	}
	return nil
}

// diagonalEntry is the kernel value k(x_i, x_i) a_i^2 before rounding.
func (s *Source) diagonalEntry(i int) float64 {
	v := s.spec.entry(s.points.norms[i], s.points.norms[i], s.points.norms[i])
	if s.spec.Scale != nil {
		v *= s.spec.Scale[i] * s.spec.Scale[i]
	}
	return v
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
