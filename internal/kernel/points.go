package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// pointSet holds points as kernels see them: centered, in float32, with their squared lengths. The product of two
// float32 values is exact in float64, so x.y, summed in feature order, has the same bits with and without fused
// multiply-add. Features that are 0 do not change it either, so sparse points, which are never centered, have the same
// bits as dense ones.
type pointSet struct {
	n, d   int
	values []float32   // row by row; only the stored values of sparse points
	norms  []float64   // |x_i|^2, summed in feature order
	sparse *sparseRows // nil if the points are dense
}

// newPointSet rounds points to float32, less the mean if there is one, and computes the norms of the rounded rows.
func newPointSet(points *dataset.Points, mean []float64) (*pointSet, error) {
	p := &pointSet{n: points.N, d: points.D, values: make([]float32, len(points.Values)),
		norms: make([]float64, points.N)}
	for i := range p.n {
		row := p.row(i)
		for f, v := range points.Row(i) {
			if mean != nil {
				v -= mean[f]
			}
			row[f] = float32(v)
			if math.IsInf(float64(row[f]), 0) {
				return nil, invalid.InCell(i, f, invalid.AboveFloat32, "value", v)
			}
		}
		norm := 0.0
		for _, v := range row {
			norm += float64(v) * float64(v) // exact, fused or not
		}
		p.norms[i] = norm
	}
	return p, nil
}

func (p *pointSet) row(i int) []float32 { return p.values[i*p.d : (i+1)*p.d : (i+1)*p.d] }

// ColumnMeans returns the mean of each feature: each tile is summed in row order, then the tiles in tile order.
func ColumnMeans(points *dataset.Points) []float64 {
	mean := make([]float64, points.D)
	points.EachColumns(func(from, to int) {
		total := mean[from:to]
		part := make([]float64, to-from)
		for tile := range partition.TileCount(points.N) {
			rows := partition.Tile(points.N, tile)
			clear(part)
			for i := rows.From; i < rows.To; i++ {
				for f, v := range points.Values[i*points.D+from : i*points.D+to] {
					part[f] += v
				}
			}
			for f, v := range part {
				total[f] += v
			}
		}
		for f := range total {
			total[f] /= float64(points.N)
		}
	})
	return mean
}

// sparseRows locates the values of sparse points. Features are renumbered, in ascending order, so that unused ones take
// no memory.
type sparseRows struct {
	start    []int64
	column   []int32
	features int
}

// newSparsePointSet is newPointSet for sparse points. Columns are numbered anew, without those that no point has.
func newSparsePointSet(points *dataset.SparsePoints, mean []float64) (*pointSet, error) {
	if mean != nil {
		return nil, errors.New("kernel: sparse points cannot be centered")
	}
	p := &pointSet{
		n: points.N, d: points.D, values: make([]float32, len(points.Value)), norms: make([]float64, points.N),
		sparse: &sparseRows{start: points.RowStart, column: slices.Clone(points.Column)},
	}
	used := slices.Clone(points.Column)
	slices.Sort(used)
	used = slices.Compact(used)
	p.sparse.features = len(used)
	for at, column := range p.sparse.column {
		place, _ := slices.BinarySearch(used, column)
		p.sparse.column[at] = int32(place)
	}
	for i := range p.n {
		for at := points.RowStart[i]; at < points.RowStart[i+1]; at++ {
			v := float32(points.Value[at])
			if math.IsInf(float64(v), 0) {
				return nil, invalid.InCell(i, int(points.Column[at]), invalid.AboveFloat32, "value", points.Value[at])
			}
			p.values[at] = v
			p.norms[i] += float64(v) * float64(v) // exact, fused or not
		}
	}
	return p, nil
}

// sparseRow returns the features and values of sparse point i. Both alias the set.
func (p *pointSet) sparseRow(i int) ([]int32, []float32) {
	from, to := p.sparse.start[i], p.sparse.start[i+1]
	return p.sparse.column[from:to:to], p.values[from:to:to]
}

// sparseLanes is the number of columns that are multiplied at a time. Their sums are independent, so the processor need
// not wait for one to continue another.
const sparseLanes = 8

// multiplySparse computes the inner products of columns with the rows of the tile, starting at a row. A few columns at
// a time are expanded over all features, with zeros where they have none; each row then reads them at its own features.
func (m *entryMaker) multiplySparse(row int, columns []int32) {
	p := m.source.points
	m.products = parallel.Resized(m.products, m.height*len(columns))
	m.features = parallel.Resized(m.features, p.sparse.features*sparseLanes)
	for first := 0; first < len(columns); first += sparseLanes {
		some := columns[first:min(first+sparseLanes, len(columns))]
		m.layOut(some, true)
		for r := row; r < m.tile.Len(); r++ {
			features, values := p.sparseRow(m.tile.From + r)
			sums := sparseProducts(features, values, m.features)
			for lane := range some {
				m.products[(first+lane)*m.height+r] = sums[lane]
			}
		}
		m.layOut(some, false)
	}
}

// layOut writes the values of some points to m.features, or zeros if write is false. m.features must be all zeros
// between calls of multiplySparse.
func (m *entryMaker) layOut(points []int32, write bool) {
	for lane, j := range points {
		features, values := m.source.points.sparseRow(int(j))
		for i, f := range features {
			v := 0.0
			if write {
				v = float64(values[i])
			}
			m.features[int(f)*sparseLanes+lane] = v
		}
	}
}

// sparseProducts returns the inner products of one row with the expanded points, each summed in feature order.
func sparseProducts(features []int32, values []float32, laidOut []float64) (sums [sparseLanes]float64) {
	for i, f := range features {
		v := float64(values[i])
		lanes := (*[sparseLanes]float64)(laidOut[int(f)*sparseLanes:])
		sums[0] += float64(v * lanes[0])
		sums[1] += float64(v * lanes[1])
		sums[2] += float64(v * lanes[2])
		sums[3] += float64(v * lanes[3])
		sums[4] += float64(v * lanes[4])
		sums[5] += float64(v * lanes[5])
		sums[6] += float64(v * lanes[6])
		sums[7] += float64(v * lanes[7])
	}
	return sums
}

// NumericClass identifies the exact bits that this build computes. All workers of a job must have the same class.
const NumericClass = "float32-v2"

// RowFetcher returns rows [from, to) of a given kernel matrix, row by row.
type RowFetcher func(ctx context.Context, from, to int) ([]float64, error)

// Source provides the entries of one base matrix. Its tiles share it, and it is safe for concurrent use once made.
type Source struct {
	spec            MatrixSpec
	points          *pointSet
	graph           *dataset.Graph // with weights on the grid
	rows            RowFetcher
	routines        routines
	denseWorkspaces sync.Pool // of *denseWorkspace
	columns         []int32   // 0..n-1
}

// NewSource returns the source of a matrix over points or a graph, which must have the rows of the spec. A given kernel
// matrix is read through rows instead, so that a worker fetches only what its tiles need; data may be nil in that case.
func NewSource(spec MatrixSpec, data dataset.Dataset, rows RowFetcher) (*Source, error) {
	if data != nil && data.Rows() != spec.Rows {
		return nil, fmt.Errorf("kernel: the data has %d rows, the matrix %d", data.Rows(), spec.Rows)
	}
	s := &Source{spec: spec, rows: rows, routines: detectRoutines(), columns: choose.All[int32](spec.Rows)}
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
		s.graph = onGrid(spec, data)
	default:
		if spec.Function != Given || rows == nil {
			return nil, fmt.Errorf("kernel: no data for function %d", spec.Function)
		}
	}
	return s, nil
}

// GivenRows returns a fetcher for a kernel matrix that is in memory. The rows alias the matrix.
func GivenRows(k *dataset.Kernel) RowFetcher {
	return func(_ context.Context, from, to int) ([]float64, error) {
		return k.Values[from*k.N : to*k.N], nil
	}
}

// onGrid returns a graph with its weights scaled and rounded to the grid. If all of them are on the grid already, as
// small whole numbers are, it returns the graph itself.
func onGrid(spec MatrixSpec, g *dataset.Graph) *dataset.Graph {
	c := spec.Grid.Rounder()
	if spec.Scale == nil && !slices.ContainsFunc(g.Weight, func(w float64) bool {
		return math.Float64bits((w+c)-c) != math.Float64bits(w)
	}) {
		return g
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
	return &dataset.Graph{N: g.N, RowStart: g.RowStart, Column: g.Column, Weight: weights}
}

// Rows returns n.
func (s *Source) Rows() int { return s.spec.Rows }

// canRecompute reports whether tiles may remain unstored. Columns of points can be computed at any time; a given matrix
// would have to be fetched again, and a graph is in memory anyway.
func (s *Source) canRecompute() bool { return s.points != nil }

// maxLanes returns the maximum number of lanes. A graph has only one: its sweeps read little more than what the moves
// of a lane touch, so lanes would have nothing to share.
func (s *Source) maxLanes() int {
	if s.graph != nil {
		return 1
	}
	return MaxLanes
}

// allColumns returns 0..n-1. The slice is shared and must not be changed.
func (s *Source) allColumns() []int32 { return s.columns }

// diagonalEntry returns k(x_i, x_i) a_i^2 before rounding. It requires points.
func (s *Source) diagonalEntry(i int) float64 {
	v := s.spec.Value(s.points.norms[i], s.points.norms[i], s.points.norms[i])
	if s.spec.Scale != nil {
		v *= s.spec.Scale[i] * s.spec.Scale[i]
	}
	return v
}
