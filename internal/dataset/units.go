package dataset

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// Units are what the columns of points are measured in: a value v of column f becomes (v - Center[f]) / Scale[f].
// nil units leave points as they are.
type Units struct{ Center, Scale []float64 }

// StandardUnits give every column the mean 0 and the variance 1. A column that does not vary becomes 0.
func StandardUnits(p *Points) *Units {
	center, variance := ColumnMoments(p)
	for f, v := range variance {
		if variance[f] = math.Sqrt(v); !(variance[f] > 0) {
			variance[f] = 1
		}
	}
	return &Units{Center: center, Scale: variance}
}

// ColumnMoments are the mean and the variance of every column, both taken in row order.
func ColumnMoments(p *Points) (mean, variance []float64) {
	mean, variance = make([]float64, p.D), make([]float64, p.D)
	for i := range p.N {
		for f, v := range p.Row(i) {
			mean[f] += (v - mean[f]) / float64(i+1) // no sum that could overflow
		}
	}
	for i := range p.N {
		for f, v := range p.Row(i) {
			off := v - mean[f]
			variance[f] += (float64(off*off) - variance[f]) / float64(i+1)
		}
	}
	return mean, variance
}

// EvenlySpread tells whether most columns carry the variance: (sum v)^2 / sum v^2 is d where all d columns vary
// alike and 1 where only one does. Below a fifth of the columns that vary at all, the units of some of them decide
// what is near, and the answer is no.
func EvenlySpread(p *Points) bool {
	const share = 0.2
	_, variance := ColumnMoments(p)
	largest := 0.0
	for _, v := range variance {
		largest = max(largest, v)
	}
	sum, squares, varying := 0.0, 0.0, 0
	for _, v := range variance {
		if v > 0 {
			v /= largest
			sum += v
			squares += float64(v * v)
			varying++
		}
	}
	return varying == 0 || float64(sum*sum)/squares >= float64(share*float64(varying))
}

// Apply gives the points in these units. Sparse points cannot be centered and stay sparse; they are refused.
func (u *Units) Apply(d Dataset) (Dataset, error) {
	if u == nil {
		return d, nil
	}
	points, dense := d.(*Points)
	if !dense {
		return nil, fault.Invalid("UNSUPPORTED_DATA", "only dense points have columns to scale; this data set is another kind of data")
	}
	if len(u.Center) != points.D || len(u.Scale) != points.D {
		return nil, fault.Invalid("SIZE_MISMATCH", "the points have %d columns, but their units are for %d", points.D, len(u.Center))
	}
	values := make([]float64, len(points.Values))
	for i := range points.N {
		row := values[i*points.D : (i+1)*points.D]
		for f, v := range points.Row(i) {
			row[f] = (v - u.Center[f]) / u.Scale[f]
			if !finite(row[f]) {
				return nil, fault.Invalid("BAD_UNITS", "row %d has the value %v in column %d, which its units make %v", i, v, f, row[f])
			}
		}
	}
	return NewPoints(points.N, points.D, values)
}
