package dataset

import (
	"github.com/cleave-project/cleave/internal/fault"
)

// Units are what the columns of points are measured in: a value v of column f becomes (v - Center[f]) / Scale[f].
// nil units leave points as they are.
type Units struct {
	Center, Scale []float64
	Rule          Rule // how they were found
}

// NewUnits checks units and keeps the slices.
func NewUnits(center, scale []float64) (*Units, error) {
	if len(center) != len(scale) {
		return nil, fault.Invalid("BAD_UNITS", "the units have %d centers and %d scales; every column needs one of each", len(center), len(scale))
	}
	for f := range center {
		if !finite(center[f]) || !finite(scale[f]) || scale[f] <= 0 {
			return nil, fault.Invalid("BAD_UNITS", "column %d has the center %v and the scale %v; both must be finite, and the scale above 0", f, center[f], scale[f])
		}
	}
	return &Units{Center: center, Scale: scale}, nil
}

// Apply gives the points in these units. Sparse points cannot be centered and stay sparse; they are refused.
func (u *Units) Apply(d Dataset) (Dataset, error) {
	if u == nil {
		return d, nil
	}
	points, dense := d.(*Points)
	if !dense {
		return nil, fault.Invalid("UNSUPPORTED_DATA", "only dense points have columns to scale; this data set is another kind of data (%v)", d.Kind())
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

// Undo gives rows of values in these units as the values that they were: v becomes v Scale[f] + Center[f].
func (u *Units) Undo(values []float64) []float64 {
	if u == nil {
		return values
	}
	undone := make([]float64, len(values))
	for at, v := range values {
		f := at % len(u.Center)
		undone[at] = float64(v*u.Scale[f]) + u.Center[f]
	}
	return undone
}
