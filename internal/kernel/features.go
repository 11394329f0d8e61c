package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/partition"
)

// Features approximate points when the kernel matrix of all points is too large. The features of a point are its kernel
// values with a few landmarks l_1, ..., l_m, which are points themselves, times a matrix:
//
//	phi(x) = P'(k(x, l_1), ..., k(x, l_m)).
//
// Kernel values equal entries of the matrix to the last bit, and each feature is one chain of fused multiply-adds in
// the order of the landmarks, like the products of the matrix with vectors. So features have the same bits on any
// machine.

// FeatureSpec determines every feature to the last bit.
type FeatureSpec struct {
	Matrix     MatrixSpec // of all points, without Scale, ZeroDiagonal and HalfScale
	Landmarks  []int32    // indexes of points, ascending
	Rank       int        // number of features
	Projection []float64  // P: a row of Rank values for each landmark
	// The landmarks themselves, in the units of the matrix, so that the features of some points can be computed from
	// these points alone; nil if they are taken from the points.
	Points *dataset.Points
}

// maxFeature bounds the values of P and of features.
const maxFeature = 1e90

// Check returns an error unless the spec is valid.
func (f *FeatureSpec) Check() error {
	m := len(f.Landmarks)
	switch {
	case !f.Matrix.Function.OfPoints() || f.Matrix.Scale != nil || f.Matrix.ZeroDiagonal || f.Matrix.HalfScale != 0:
		return fmt.Errorf("kernel: features need a matrix of points without scale, rounding or changes of the "+
			"diagonal, not this one (%v)", f.Matrix.Function)
	case m < 1 || m > f.Matrix.Rows || f.Rank < 1 || f.Rank > m || len(f.Projection)/m != f.Rank ||
		len(f.Projection)%m != 0:
		return fmt.Errorf("kernel: %d features of %d landmarks among %d points cannot have a projection of %d values",
			f.Rank, m, f.Matrix.Rows, len(f.Projection))
	}
	if p := f.Points; p != nil && (p.N != m || p.D != f.Matrix.Columns) {
		return fmt.Errorf("kernel: the landmarks are %d x %d values, want %d x %d", p.N, p.D, m, f.Matrix.Columns)
	}
	last := int32(-1)
	for _, l := range f.Landmarks {
		if l <= last || int(l) >= f.Matrix.Rows {
			return fmt.Errorf("kernel: landmark %d after %d is out of order or out of range [0, %d)", l, last,
				f.Matrix.Rows)
		}
		last = l
	}
	for _, v := range f.Projection {
		if !(math.Abs(v) <= maxFeature) {
			return fmt.Errorf("kernel: a value of the projection is %v, want at most %g", v, maxFeature)
		}
	}
	return nil
}

// Bounds returns an upper bound of the magnitude of each feature, given a bound of kernel values: |k| times the sum of
// a column of |P|, plus a little for rounding.
func (f *FeatureSpec) Bounds(entry float64) []float64 {
	bounds := make([]float64, f.Rank)
	for i, v := range f.Projection {
		bounds[i%f.Rank] += math.Abs(v)
	}
	for c := range bounds {
		bounds[c] *= entry * 1.001
	}
	return bounds
}

// Features computes the features of points. It is safe for concurrent use.
type Features struct {
	spec    *FeatureSpec
	source  *Source
	bundles []bundle // of the columns of P
	first   int      // the number of the first row, for messages
}

// NewFeaturesOf returns the features of some rows of the data that the spec was made for, and the number that is added
// to the number of a row to get its place in Compute. The spec must have the landmarks.
func NewFeaturesOf(spec *FeatureSpec, points *dataset.Points,
	rows partition.Range) (f *Features, shift int, err error) {
	if spec.Points == nil || points.N != rows.Len() || points.D != spec.Matrix.Columns {
		return nil, 0, fmt.Errorf("kernel: the points are %d x %d values, want %d x %d and a spec with landmarks",
			points.N, points.D, rows.Len(), spec.Matrix.Columns)
	}
	// Each point is there once, and in order, so that entries of a landmark with itself remain on the diagonal.
	before, _ := slices.BinarySearch(spec.Landmarks, int32(rows.From))
	after, _ := slices.BinarySearch(spec.Landmarks, int32(rows.To))
	own, d := *spec, points.D
	own.Landmarks = make([]int32, len(spec.Landmarks))
	for i, l := range spec.Landmarks {
		switch {
		case i < before:
			own.Landmarks[i] = int32(i)
		case i < after:
			own.Landmarks[i] = int32(before + int(l) - rows.From)
		default:
			own.Landmarks[i] = int32(i - after + before + rows.Len())
		}
	}
	values := slices.Concat(spec.Points.Values[:before*d], points.Values, spec.Points.Values[after*d:])
	own.Matrix.Rows = len(values) / d
	f, err = NewFeatures(&own, &dataset.Points{N: own.Matrix.Rows, D: d, Values: values})
	if err != nil {
		return nil, 0, err
	}
	shift = before - rows.From
	f.first = -shift
	return f, shift, nil
}

// NewFeatures returns the features of the given data, which must be the dense points that the spec was made for.
func NewFeatures(spec *FeatureSpec, data dataset.Dataset) (*Features, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	points, dense := data.(*dataset.Points)
	if !dense || points.N != spec.Matrix.Rows || points.D != spec.Matrix.Columns {
		return nil, fmt.Errorf("kernel: the data is not %d dense points of %d columns", spec.Matrix.Rows,
			spec.Matrix.Columns)
	}
	source, err := NewSource(spec.Matrix, data, nil)
	if err != nil {
		return nil, err
	}
	f := &Features{spec: spec, source: source}
	f.makeBundles()
	return f, nil
}

// makeBundles splits the columns of P into bundles no larger than the routines accept.
func (f *Features) makeBundles() {
	limit := f.source.routines.productVectors
	rank := f.spec.Rank
	f.bundles = make([]bundle, (rank+limit-1)/limit)
	for i := range f.bundles {
		first, end := i*rank/len(f.bundles), (i+1)*rank/len(f.bundles)
		b := bundle{first: first, count: end - first, width: end - first}
		for j := range f.spec.Landmarks {
			b.values = append(b.values, f.spec.Projection[j*rank+first:j*rank+end]...)
		}
		f.bundles[i] = b
	}
}

// FeatureRows is the maximum, and best, number of rows to compute at a time: their working set stays in the
// second-level cache.
const FeatureRows = 256

// Compute computes the features of at most FeatureRows rows: feature c of row r is dst[c*FeatureRows+r].
func (f *Features) Compute(dst []float64, rows partition.Range) error {
	if rows.From < 0 || rows.To > f.source.Rows() || rows.Len() > FeatureRows || len(dst) < f.spec.Rank*FeatureRows {
		return fmt.Errorf("kernel: rows [%d, %d) are out of range [0, %d), more than %d, or too many for %d values",
			rows.From, rows.To, f.source.Rows(), FeatureRows, len(dst))
	}
	w := f.source.borrowDense()
	defer f.source.returnDense(w)
	t := f.source.rowsTile(rows)
	p := &w.panel
	clear(dst[:f.spec.Rank*FeatureRows])
	p.sums, p.height, p.rows, p.pitch = dst, FeatureRows, t.stride, t.stride
	err := t.addProducts(p, f.spec.Landmarks, f.bundles, w)
	p.sums, p.values, p.ahead = nil, nil, nil
	if err != nil {
		return err
	}
	for c := range f.spec.Rank {
		for r, v := range dst[c*FeatureRows:][:rows.Len()] {
			if !(math.Abs(v) <= maxFeature) {
				return invalid.InRow(f.first+rows.From+r, invalid.FeatureOutOfRange, "value", v, "limit", maxFeature)
			}
		}
	}
	return nil
}

// rowsTile returns a tile of any consecutive rows, without storage.
func (s *Source) rowsTile(rows partition.Range) *denseTile {
	return &denseTile{source: s, rows: rows, n: s.spec.Rows, height: rows.Len(), stride: padded(rows.Len())}
}

// Square computes the whole matrix of a few points, row by row. It is used for the kernel values of landmarks with each
// other.
func Square(spec MatrixSpec, points dataset.Dataset) ([]float64, error) {
	s, err := NewSource(spec, points, nil)
	if err != nil {
		return nil, err
	}
	n := spec.Rows
	values := make([]float64, 0, n*n)
	w := s.borrowDense()
	defer s.returnDense(w)
	t := s.rowsTile(partition.Range{From: 0, To: n})
	for from := 0; from < n; from += FeatureRows { // the matrix is symmetric: rows are columns
		rows := partition.Range{From: from, To: min(from+FeatureRows, n)}
		v, err := t.locate(s.allColumns()[rows.From:rows.To], w)
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			for _, entry := range v.values[v.begin(i):][:n] {
				values = append(values, float64(entry))
			}
		}
	}
	return values, nil
}

// Trace returns the sum of the diagonal of the matrix of points, summed tile by tile.
func Trace(spec MatrixSpec, points dataset.Dataset) (float64, error) {
	s, err := NewSource(spec, points, nil)
	if err != nil {
		return 0, err
	}
	return partition.SumByTile(spec.Rows, s.diagonalEntry), nil
}
