// Package vector is what the vector family (k-means and its seeded, constrained, metric-learning and
// HMRF relatives) does on a worker's rows: nearest centroids, sums of clusters, scatter.
//
// Every value is a float64 on its feature's grid, a power of two chosen so that the sum of any of
// the n values of a feature is exact. So the sums of clusters have the same bits in any order, on
// any number of workers. The values stay float64, not float32 as in package kernel: an objective
// computed here agrees with one computed from the raw data to about 1e-9, which 24 bits would not
// allow. What cannot be exact, scores and distortions, is one fixed sequence of roundings: scores
// are chains of fused multiply-adds in feature order, which are the same bits in vector and in
// portable code, and the zeros of a row change nothing in a chain, so that a sparse row has the
// scores of the same row written out.
package vector

import (
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Preparation is what is done to rows before they are clustered.
type Preparation uint8

// The preparations.
const (
	// Plain is for squared Euclidean distances. Dense rows are centered: a large offset would eat the
	// significant bits. Sparse rows are not, since they would not stay sparse.
	Plain Preparation = iota + 1
	// Unit stretches rows to length 1, for cosines. A row of zeros is a fault.
	Unit
	// Probability adds 1e-12 to every value and divides rows by their sums, for the KL divergence.
	// Values below 0 are faults.
	Probability
	// NonNegative leaves rows as they are, for the I-divergence. Values below 0 are faults. A centroid
	// is 0 in a feature only where all its members are, so that no member is infinitely far from it;
	// for other points log 0 is taken for log 1e-12 (see Model).
	NonNegative
)

// Spec fixes every stored value to the last bit. It is the same on every worker.
//
// Under Probability a row is its values divided by its total, and 1e-12 divided by its total in every
// feature: the background. Rounded to a feature's grid the background would vanish, and added to every
// value it would make sparse rows dense. So it is a quantity of its own, one number per row, which is
// stored and summed as one more feature after the last.
type Spec struct {
	Preparation    Preparation
	Rows, Columns  int
	Mean           []float64 // subtracted per feature; nil: none
	Grids          []int32   // per feature: its values are multiples of 2 to this power
	BackgroundGrid int32     // the same for the background
}

// Background tells whether rows have a background.
func (s *Spec) Background() bool { return s.Preparation == Probability }

// Width is the number of summed quantities: the features and, where there is one, the background.
func (s *Spec) Width() int {
	if s.Background() {
		return s.Columns + 1
	}
	return s.Columns
}

// Centroid writes the mean of count points with these sums, Width values, to dst, one value per
// feature. For unit rows it is not yet of length 1.
func (s *Spec) Centroid(dst, sums []float64, count int) {
	background := 0.0
	if s.Background() {
		background = sums[s.Columns]
	}
	for f := range dst[:s.Columns] {
		dst[f] = (sums[f] + background) / float64(count)
	}
}

// largestValue bounds data, centroids and metrics: products of three of them, summed, stay finite.
const maxValue = 1e90

// NewSpec looks at all data once, and refuses what the preparation cannot work with.
func NewSpec(data dataset.Dataset, preparation Preparation) (*Spec, error) {
	spec := &Spec{Preparation: preparation}
	switch data := data.(type) {
	case *dataset.Points:
		spec.Rows, spec.Columns = data.N, data.D
	case *dataset.SparsePoints:
		spec.Rows, spec.Columns = data.N, data.D
	default:
		return nil, fault.Invalid("UNSUPPORTED_DATA", "centroids need points, dense or sparse; this data set is another kind of data")
	}
	if preparation < Plain || preparation > NonNegative {
		return nil, fault.Invalid("UNKNOWN_PREPARATION", "preparation %d is not known", preparation)
	}
	if points, dense := data.(*dataset.Points); dense && preparation == Plain {
		spec.Mean = meanOf(points)
	}
	return spec, spec.chooseGrids(data)
}

// meanOf is the mean per feature: each tile in row order, then the tiles in tile order.
func meanOf(points *dataset.Points) []float64 {
	total, part := make([]float64, points.D), make([]float64, points.D)
	for tile := range partition.TileCount(points.N) {
		rows := partition.Tile(points.N, tile)
		clear(part)
		for i := rows.From; i < rows.To; i++ {
			for f, v := range points.Row(i) {
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
	return total
}

// chooseGrids takes for each feature the finest grid on which all sums are exact. With B the sum of
// all magnitudes, at most n times the largest, it is g = 2^e with 2 B <= 2^52 g: rounding n < 2^31
// values adds less than half of what the factor 2 leaves.
func (s *Spec) chooseGrids(data dataset.Dataset) error {
	magnitudes := make([]float64, s.Width())
	p := newPreparer(s, data)
	for i := range s.Rows {
		r, err := p.prepare(i)
		if err != nil {
			return err
		}
		if s.Background() {
			magnitudes[s.Columns] += r.background
		}
		for at, v := range r.values {
			magnitudes[r.column(at)] += max(v, -v)
		}
	}
	exponents := make([]int32, s.Width())
	for f, bound := range magnitudes {
		exponents[f] = max(minGrid, int32(kernel.GridFor(bound)))
	}
	s.Grids = exponents[:s.Columns]
	if s.Background() {
		s.BackgroundGrid = exponents[s.Columns]
	}
	return nil
}

// smallestGrid is float64's own: every float64 is a multiple of 2 to this power.
const minGrid = -1074
