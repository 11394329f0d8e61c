// Package metric measures distances between points and learns metrics. It contains the distortions of PC-, M-, MPC- and
// HMRF-KMeans, the penalties of violated constraints, and the update of the metric. It does not know how rows are
// stored or distributed; package vector does.
//
// Notation: d_A(x, y) = (x - y)' A (x - y) with A positive definite; l_i the label of point i, mu_h the mean of cluster
// h; M the must-links, C the cannot-links, each unordered pair once. All algorithms minimize
//
//	J = sum_i D(x_i, mu_l_i) - log det A + sum of penalties of violated links     Basu2003 (4)
//
// Sums run in the order of features, then of pairs, and each product is rounded before it is added, so that the same
// input gives the same bits on every machine.
//
// To compute d_A(x, mu) for many sparse rows x, expand it to x'Ax - 2 x'(A mu) + mu'A mu, with A mu and mu'A mu
// computed once for each mean.
package metric

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/text"
)

// Form is the kind of matrix that A is.
type Form uint8

// The forms of a metric.
const (
	Identity Form = iota + 1 // A = I: nothing is learned
	Diagonal                 // one weight for each feature
	Full                     // any symmetric positive definite matrix
)

func (f Form) String() string {
	return text.Name(f, "unknown", "identity", "diagonal", "full")
}

// MaxValue bounds the values of a learned metric, so that their products with those of two points stay finite.
const MaxValue = 1e90

// MaxFullFeatures is the maximum number of features of a full metric, whose update takes time O(d^3).
const MaxFullFeatures = 1000

// Size returns the number of values of a matrix of this form over d features: d x d for a full matrix, otherwise the d
// values of its diagonal. Scatter matrices use the same layout.
func (f Form) Size(d int) int {
	if f == Full {
		return d * d
	}
	return d
}

// Metric is a matrix A. It is immutable and safe for concurrent use.
type Metric struct {
	form   Form
	d      int
	values []float64 // in the layout of Form.Size; nil for the identity
	logDet float64
}

// NewIdentity returns A = I over d features.
func NewIdentity(d int) *Metric { return &Metric{form: Identity, d: d} }

// NewUnit returns A = I in the given form, as the starting point for learning a metric.
func NewUnit(form Form, d int) (*Metric, error) {
	switch form {
	case Diagonal:
		return NewDiagonal(slices.Repeat([]float64{1}, d))
	case Full:
		if err := checkFull(d); err != nil {
			return nil, err
		}
		values := make([]float64, d*d)
		for i := range d {
			values[i*d+i] = 1
		}
		return NewFull(d, values)
	}
	return NewIdentity(d), nil
}

// NewDiagonal returns A = diag(weights). The weights must be positive. The metric keeps the slice, which must not be
// changed afterward.
func NewDiagonal(weights []float64) (*Metric, error) {
	m := &Metric{form: Diagonal, d: len(weights), values: weights}
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, invalid.New(invalid.MetricWeight, "column", i, "weight", w)
		}
		m.logDet += elementary.Log(w)
	}
	return m, nil
}

// NewFull returns the metric with the d x d matrix A, given row by row. A must be symmetric and positive definite. The
// metric keeps the slice, which must not be changed afterward.
func NewFull(d int, values []float64) (*Metric, error) {
	if err := checkFull(d); err != nil {
		return nil, err
	}
	if len(values) != d*d {
		return nil, invalid.New(invalid.MetricSize, "columns", d, "needed", d*d, "given", len(values))
	}
	for i := range d {
		for j := range i {
			if values[i*d+j] != values[j*d+i] {
				return nil, invalid.New(invalid.AsymmetricMetric, "i", i, "j", j, "value", values[i*d+j],
					"mirrored", values[j*d+i])
			}
		}
	}
	var factor eigen.Factor
	isPositive := !slices.ContainsFunc(values, isNotFinite)
	if isPositive {
		factor, isPositive = eigen.Factorize(mat.NewSymDense(d, values))
	}
	if !isPositive {
		return nil, invalid.New(invalid.MetricNotPositive)
	}
	m := &Metric{form: Full, d: d, values: values}
	triangle := factor.Lower()
	for i := range d {
		m.logDet += 2 * elementary.Log(triangle.At(i, i)) // not LogDet, whose bits depend on the processor
	}
	return m, nil
}

func isNotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

func checkFull(d int) error {
	if d < 1 || d > MaxFullFeatures {
		return invalid.New(invalid.MetricColumns, "columns", d, "limit", MaxFullFeatures)
	}
	return nil
}

// Form returns the kind of matrix that A is.
func (m *Metric) Form() Form { return m.form }

// Values returns A in the layout of Form.Size, or nil for the identity. It must not be changed.
func (m *Metric) Values() []float64 { return m.values }

// LogDet returns log det A.
func (m *Metric) LogDet() float64 { return m.logDet }

// Distance returns d_A(x, y) = (x - y)' A (x - y).
func (m *Metric) Distance(x, y []float64) float64 {
	sum := 0.0
	switch m.form {
	case Diagonal:
		for i, v := range x {
			difference := v - y[i]
			sum += float64(m.values[i] * float64(difference*difference))
		}
	case Full:
		for i, v := range x {
			product := 0.0
			for j, a := range m.values[i*m.d : (i+1)*m.d] {
				product += float64(a * (x[j] - y[j]))
			}
			sum += float64((v - y[i]) * product)
		}
	default:
		return SquaredDistance(x, y)
	}
	return sum
}

// SquaredDistance returns the squared Euclidean distance, summed in the order of the features.
func SquaredDistance(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		difference := v - y[i]
		sum += float64(difference * difference)
	}
	return sum
}

// totalDistance returns the sum of the distances of points to their means, given their scatter S = sum (x - mu)(x -
// mu)': sum_i d_A(x_i, mu_l_i) = sum_ij A_ij S_ij.
func (m *Metric) totalDistance(scatter []float64) float64 {
	sum := 0.0
	for i, s := range scatter {
		if m.form == Identity {
			sum += s
		} else {
			sum += float64(m.values[i] * s)
		}
	}
	return sum
}

// phiMax returns an upper bound of d_A over points whose features have the given ranges (largest minus smallest value):
// sum_ij |A_ij| r_i r_j. For a diagonal A, two corners of the box are that far apart.
func (m *Metric) phiMax(ranges []float64) float64 {
	sum := 0.0
	for i, r := range ranges {
		switch m.form {
		case Diagonal:
			sum += float64(m.values[i] * float64(r*r))
		case Full:
			product := 0.0
			for j, a := range m.values[i*m.d : (i+1)*m.d] {
				product += float64(math.Abs(a) * ranges[j])
			}
			sum += float64(r * product)
		default:
			sum += float64(r * r)
		}
	}
	return sum
}

// Spread returns the condition number of A, its largest eigenvalue over its smallest: 1 for a multiple of the identity.
// For a full metric it requires an eigenvalue decomposition, which fails only if the context ends.
func (m *Metric) Spread(ctx context.Context) (_ float64, err error) {
	values := m.values
	switch m.form {
	case Identity:
		return 1, nil
	case Full:
		values, err = eigen.DenseEigenvalues(ctx, mat.NewSymDense(m.d, m.values))
		if err != nil {
			return 0, err
		}
	}
	smallest := math.Inf(1)
	largest := 0.0
	for _, v := range values {
		smallest, largest = min(smallest, v), max(largest, v)
	}
	return largest / smallest, nil
}

// addOuter adds weight (x - y)(x - y)' to a matrix of this form: only to its diagonal, unless the form is Full. A
// scatter is the sum of these over points and their means.
func (f Form) addOuter(into []float64, weight float64, x, y []float64) {
	d := len(x)
	for i, v := range x {
		difference := v - y[i]
		if f != Full {
			into[i] += float64(weight * float64(difference*difference))
			continue
		}
		for j, u := range x {
			into[i*d+j] += float64(weight * float64(difference*(u-y[j]))) // symmetric to the bit
		}
	}
}
