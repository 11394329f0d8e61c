// Package vector contains the hot code of the k-means family (k-means and its seeded, constrained, metric-learning and
// HMRF relatives), which workers run on their rows: nearest centroids, cluster sums, scatter. Code belongs here if it
// reads rows; algorithms that only use its results belong in package clustering.
//
// Every value is a float64 rounded to its feature's grid, a power of two chosen so that the sum of any of the n values
// of a feature is exact. So cluster sums have the same bits in any order, on any number of workers. Values are float64,
// not float32 as in package kernel: an objective computed here agrees to about 1e-9 with one computed from the raw
// data, which the 24 bits of float32 would not allow.
//
// Scores and distortions cannot be exact, so they are fixed sequences of roundings. Scores are chains of fused
// multiply-adds in feature order, with the same bits in SIMD and in portable code. Zeros change nothing in such a
// chain, so a sparse row has the same scores as the same row with all its zeros.
package vector

import (
	"math"
	"sync/atomic"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Preparation selects how rows are transformed before they are clustered.
type Preparation uint8

// The preparations.
const (
	// Plain is for squared Euclidean distances. Dense rows are centered, because a large offset would cost
	// significant bits. Sparse rows are not, because they would not stay sparse.
	Plain Preparation = iota + 1
	// Unit scales rows to length 1, for cosines. A row of zeros is an error.
	Unit
	// Probability adds 1e-12 to every value and divides rows by their sums, for the KL divergence. Negative values are
	// an error.
	Probability
	// NonNegative leaves rows unchanged, for the I-divergence. Negative values are an error. A centroid is 0 in a
	// feature only if all its members are, so no member is infinitely far from it; for other points log 0 counts as log
	// 1e-12 (see Model).
	NonNegative
)

// RowSpec determines every stored value to the last bit. All workers of a job use the same spec.
//
// Under Probability a row is its values divided by its total, plus 1e-12 divided by its total in every feature: the
// background. Rounded to a feature's grid the background would vanish, and added to every value it would make sparse
// rows dense. So it is one number per row, which is stored and summed like an additional last feature.
type RowSpec struct {
	Preparation    Preparation
	Rows, Columns  int
	Mean           []float64 // per feature, subtracted from dense rows; nil means no centering
	Grids          []int32   // per feature: its values are multiples of 2^grid
	BackgroundGrid int32     // the same for the background

	// Features, if not nil, replaces the columns of the data by features computed from kernel values.
	Features *kernel.FeatureSpec
}

// HasBackground reports whether rows have a background.
func (s *RowSpec) HasBackground() bool { return s.Preparation == Probability }

// Width returns the number of values that are summed: the features and, if there is one, the background.
func (s *RowSpec) Width() int {
	if s.HasBackground() {
		return s.Columns + 1
	}
	return s.Columns
}

// Centroid computes the mean of count points from their sums (Width values) into dst, one value per feature. The mean
// of unit rows does not have length 1.
func (s *RowSpec) Centroid(dst, sums []float64, count int) {
	background := 0.0
	if s.HasBackground() {
		background = sums[s.Columns]
	}
	for f := range dst[:s.Columns] {
		dst[f] = (sums[f] + background) / float64(count)
	}
}

// maxValue bounds data and metrics, and maxCentroid the means of centered data, which rounding may raise a little. Sums
// of products of three of them stay finite.
const (
	maxValue    = metric.MaxValue
	maxCentroid = 4 * maxValue
)

// NewRowSpec returns the spec of a data set. It reads all data once, and fails if the preparation cannot handle a row.
func NewRowSpec(data dataset.Dataset, preparation Preparation) (*RowSpec, error) {
	spec := &RowSpec{Preparation: preparation}
	switch data := data.(type) {
	case *dataset.Points:
		spec.Rows, spec.Columns = data.N, data.D
	case *dataset.SparsePoints:
		spec.Rows, spec.Columns = data.N, data.D
	default:
		return nil, invalid.New(invalid.NoCentroidsOf)
	}
	if preparation < Plain || preparation > NonNegative {
		return nil, invalid.New(invalid.UnknownPreparation, "preparation", int(preparation))
	}
	if points, dense := data.(*dataset.Points); dense && preparation == Plain {
		spec.Mean = kernel.ColumnMeans(points)
	}
	return spec, spec.chooseGrids(data)
}

// NewFeatureSpec returns the spec of rows that are features of points, given a bound of the kernel values. It does not
// read the data: the grids follow from the largest values that features can have.
func NewFeatureSpec(features *kernel.FeatureSpec, entry float64) *RowSpec {
	spec := &RowSpec{Preparation: Plain, Rows: features.Matrix.Rows, Columns: features.Rank, Features: features}
	for _, bound := range features.Bounds(entry) {
		spec.Grids = append(spec.Grids, max(minGrid, int32(kernel.GridFor(float64(spec.Rows)*bound))))
	}
	return spec
}

// chooseGrids chooses for each feature the finest grid on which all sums are exact. With B the sum of all magnitudes,
// that is g = 2^e with 2 B <= 2^52 g. The factor 2 leaves room for rounding n < 2^31 values to the grid, which adds
// less than half of it.
func (s *RowSpec) chooseGrids(data dataset.Dataset) error {
	magnitudes, err := s.magnitudes(data)
	if err != nil {
		return err
	}
	exponents := make([]int32, s.Width())
	for f, bound := range magnitudes {
		exponents[f] = max(minGrid, int32(kernel.GridFor(bound)))
	}
	s.Grids = exponents[:s.Columns]
	if s.HasBackground() {
		s.BackgroundGrid = exponents[s.Columns]
	}
	return nil
}

// magnitudes returns the sum of all magnitudes of each feature, in row order.
func (s *RowSpec) magnitudes(data dataset.Dataset) ([]float64, error) {
	sums := make([]float64, s.Width())
	if points, dense := data.(*dataset.Points); dense && s.Preparation == Plain &&
		centeredMagnitudes(points, s.Mean, sums) {
		return sums, nil
	}
	clear(sums)
	p := newPreparer(s, data, 0)
	for i := range s.Rows {
		r, err := p.prepare(i)
		if err != nil {
			return nil, err
		}
		if s.HasBackground() {
			sums[s.Columns] += r.background
		}
		for at, v := range r.values {
			sums[r.column(at)] += max(v, -v)
		}
	}
	return sums, nil
}

// centeredMagnitudes adds up the magnitudes of centered points, many columns at a time. It returns false if a value is
// too large; the caller then finds it and reports the error.
func centeredMagnitudes(points *dataset.Points, mean, sums []float64) bool {
	var tooLarge atomic.Bool
	points.EachColumns(func(from, to int) {
		mean, sums := mean[from:to], sums[from:to]
		for i := range points.N {
			for f, v := range points.Values[i*points.D+from : i*points.D+to] {
				if !(math.Abs(v) <= maxValue) {
					tooLarge.Store(true)
					return
				}
				sums[f] += math.Abs(v - mean[f])
			}
		}
	})
	return !tooLarge.Load()
}

// minGrid is the exponent of the smallest float64, of which every float64 is a multiple.
const minGrid = -1074
