package metric

import (
	"context"
	"math"
	"slices"
)

// inverse computes B, the inverse of the A where the derivative of J vanishes. With dd' = (x - y)(x - y)' for a
// link of weight w, B is the scatter plus these terms:
//
//   - Basu2003 3.3: minus w dd' for violated must-links nearer than a_max (the penalty of others is at its floor,
//     0), and plus w dd' for violated cannot-links nearer than a_max (the penalty of others is at its cap).
//   - Bilenko2004 (6): plus w dd' for violated must-links, and plus w (R - dd') for violated cannot-links, where
//     R_ij = r_i r_j sign A_ij is the derivative of phi_max. (The signs of Basu2003 3.3 belong to the penalties
//     of that paper; they would raise these.)
//
// sizes is the diagonal of B with every term counted as positive. It tells how large rounding errors in B may be.
func (s *Step) inverse(ctx context.Context, old *Metric) (inverse, sizes []float64, err error) {
	form, d := old.form, old.d
	inverse = slices.Clone(s.Scatter)
	sizes = make([]float64, d)
	for i := range sizes {
		sizes[i] = math.Abs(s.Scatter[form.onDiagonal(d, i)])
	}
	measure := Measure{SquaredEuclidean, old}
	bound := measure.Bound(s.PenaltyKind, s.Links, s.Ranges)
	for _, l := range s.Links {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		slope := s.slope(l, measure, bound)
		if slope == 0 {
			continue
		}
		form.addOuter(inverse, slope, l.X, l.Y)
		Diagonal.addOuter(sizes, l.Weight, l.X, l.Y)
		if s.PenaltyKind == Bilenko2004 && !l.MustLink {
			s.addRanges(old, inverse, sizes, l.Weight)
		}
	}
	return inverse, sizes, nil
}

// slope returns the derivative of a link's penalty with respect to the distance of its points.
func (s *Step) slope(l Link, measure Measure, bound float64) float64 {
	switch {
	case !l.Violated || s.PenaltyKind == Potts:
		return 0
	case s.PenaltyKind == Basu2003 && measure.Between(l.X, l.Y) >= bound:
		return 0
	case l.MustLink == (s.PenaltyKind == Bilenko2004):
		return l.Weight
	}
	return -l.Weight
}

// addRanges adds weight times R to inverse and sizes.
func (s *Step) addRanges(old *Metric, inverse, sizes []float64, weight float64) {
	d := old.d
	for i, r := range s.Ranges {
		sizes[i] += float64(weight * float64(r*r))
		if old.form != Full {
			inverse[i] += float64(weight * float64(r*r))
			continue
		}
		for j, q := range s.Ranges {
			if a := old.values[i*d+j]; a != 0 {
				inverse[i*d+j] += math.Copysign(float64(weight*float64(r*q)), a)
			}
		}
	}
}

// onDiagonal returns the index of entry (i, i) in a d x d matrix of this form.
func (f Form) onDiagonal(d, i int) int {
	if f == Full {
		return i*d + i
	}
	return i
}
