package vector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Source provides the rows that tiles are built from: a worker's copy of the data, or a way to fetch rows of it, and
// how rows are prepared. It is safe for concurrent use.
type Source struct {
	spec     *RowSpec
	data     dataset.Dataset  // nil if rows are fetched
	fetch    RowFetcher       // nil if there is data
	sparse   bool             // tiles store sparse rows
	features *kernel.Features // nil if rows are those of the data
	rounders []float64        // per feature, then for the background; see kernel.Grid
	routines routines
}

// NewSource returns a source of the data that the spec was made from. It fails if they do not fit.
func NewSource(spec *RowSpec, data dataset.Dataset) (*Source, error) {
	rows, columns, sparse := shapeOf(data)
	if rows == 0 {
		return nil, fmt.Errorf("vector: %T is not a kind of points", data)
	}
	if err := spec.check(sparse); err != nil {
		return nil, err
	}
	s := sourceOf(spec, sparse)
	s.data = data
	if spec.Features != nil {
		features, err := kernel.NewFeatures(spec.Features, data)
		if err != nil {
			return nil, err
		}
		s.features = features
		return s, nil
	}
	if rows != spec.Rows || columns != spec.Columns {
		return nil, fmt.Errorf("vector: %d x %d points do not fit a spec of %d x %d", rows, columns, spec.Rows,
			spec.Columns)
	}
	return s, nil
}

// shapeOf returns the size of points and whether they are sparse. For other data it returns 0 rows.
func shapeOf(data dataset.Dataset) (rows, columns int, sparse bool) {
	switch data := data.(type) {
	case *dataset.Points:
		return data.N, data.D, false
	case *dataset.SparsePoints:
		return data.N, data.D, true
	}
	return 0, 0, false
}

// RowFetcher returns the rows of a tile of dense or sparse points. They belong to the caller.
type RowFetcher func(ctx context.Context, rows partition.Range) (dataset.Dataset, error)

// NewFetchingSource returns a source that fetches the points of a tile when the tile is built; sparse tells of which
// kind they are. If rows are features, the spec must have the landmarks.
func NewFetchingSource(spec *RowSpec, sparse bool, fetch RowFetcher) (*Source, error) {
	if err := spec.check(sparse); err != nil {
		return nil, err
	}
	if spec.Features != nil && spec.Features.Points == nil {
		return nil, errors.New("vector: features of points that are fetched, without landmarks")
	}
	s := sourceOf(spec, sparse)
	s.fetch = fetch
	return s, nil
}

// check returns an error unless the parts of the spec fit each other and this kind of points.
func (s *RowSpec) check(sparse bool) error {
	if s.Preparation < Plain || s.Preparation > NonNegative {
		return fmt.Errorf("vector: there is no preparation %d", s.Preparation)
	}
	if len(s.Grids) != s.Columns || s.Mean != nil && len(s.Mean) != s.Columns {
		return fmt.Errorf("vector: %d grids and %d means do not fit a spec of %d columns", len(s.Grids),
			len(s.Mean), s.Columns)
	}
	if sparse && (s.Mean != nil || s.Features != nil) {
		return errors.New("vector: sparse points have no mean and no features")
	}
	if f := s.Features; f != nil && (s.Preparation != Plain || s.Mean != nil || s.Rows != f.Matrix.Rows ||
		s.Columns != f.Rank) {
		return fmt.Errorf("vector: %d features of %d points do not fit a spec of %d x %d", f.Rank, f.Matrix.Rows,
			s.Rows, s.Columns)
	}
	return nil
}

func sourceOf(spec *RowSpec, sparse bool) *Source {
	s := &Source{spec: spec, sparse: sparse, rounders: make([]float64, spec.Width()), routines: detectRoutines()}
	for f, grid := range spec.Grids {
		s.rounders[f] = kernel.Grid(grid).Rounder()
	}
	if spec.HasBackground() {
		s.rounders[spec.Columns] = kernel.Grid(spec.BackgroundGrid).Rounder()
	}
	return s
}

// round rounds a prepared row to the grids, in place. A background never becomes 0, because its logarithm is needed.
func (s *Source) round(r *row) {
	for i, v := range r.values {
		c := s.rounders[r.column(i)]
		r.values[i] = (v + c) - c
	}
	if s.spec.HasBackground() {
		c := s.rounders[s.spec.Columns]
		r.background = max((r.background+c)-c, math.Ldexp(1, int(s.spec.BackgroundGrid)))
	}
}

// Row writes row i to dst; see EachRow.
func (s *Source) Row(dst []float64, i int) error {
	if len(dst) < s.spec.Columns {
		return fmt.Errorf("vector: a row has %d columns, and there is room for %d", s.spec.Columns, len(dst))
	}
	return s.EachRow(partition.Range{From: i, To: i + 1}, func(row []float64) { copy(dst, row) })
}

// EachRow calls visit for rows as tiles store them: every feature rounded to its grid, and the background added. A row
// is valid until visit returns. The source must have the data.
func (s *Source) EachRow(rows partition.Range, visit func(row []float64)) error {
	if s.data == nil || rows.From < 0 || rows.To > s.spec.Rows {
		return fmt.Errorf("vector: rows %d to %d are out of range [0, %d), or the source has no data", rows.From,
			rows.To, s.spec.Rows)
	}
	if s.features != nil {
		return s.eachFeatureRow(rows, visit)
	}
	row, preparer := make([]float64, s.spec.Columns), newPreparer(s.spec, s.data, 0)
	for i := rows.From; i < rows.To; i++ {
		prepared, err := preparer.prepare(i)
		if err != nil {
			return err
		}
		s.round(&prepared)
		for f := range row {
			row[f] = prepared.background
		}
		for at, v := range prepared.values {
			row[prepared.column(at)] += v
		}
		visit(row)
	}
	return nil
}

// Ranges returns the largest minus the smallest value of each feature. It reads all rows.
func (s *Source) Ranges(ctx context.Context) ([]float64, error) {
	var mutex sync.Mutex
	var least, most []float64
	err := parallel.Run(ctx, parallel.Threads(ctx), partition.TileCount(s.spec.Rows), func(tile int) error {
		var low, high []float64
		err := s.EachRow(partition.Tile(s.spec.Rows, tile), func(row []float64) { low, high = widen(low, high, row) })
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		least, most = widen(least, most, low)
		least, most = widen(least, most, high)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for f := range most {
		most[f] -= least[f]
	}
	return most, nil
}

// widen returns the ranges low to high, which may be nil, such that they include a row.
func widen(low, high, row []float64) (least, most []float64) {
	if low == nil {
		return slices.Clone(row), slices.Clone(row)
	}
	for f, v := range row {
		low[f], high[f] = min(low[f], v), max(high[f], v)
	}
	return low, high
}

// Rows returns n.
func (s *Source) Rows() int { return s.spec.Rows }

// Spec returns the spec that the source was made with.
func (s *Source) Spec() *RowSpec { return s.spec }
