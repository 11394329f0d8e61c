package kernel

import "math"

// Grid is the exponent e of the spacing g = 2^e that every entry of M is a multiple of.
type Grid int

// GridFor is the finest grid on which row sums are exact when every row's absolute sum is at most
// bound: 2 bound <= 2^52 g. The factor 2 leaves room for the sparse part.
func GridFor(bound float64) Grid {
	if !(bound > 0) {
		return 0
	}
	_, exponent := math.Frexp(bound) // bound < 2^exponent
	return Grid(exponent + 1 - 52)
}

// Spacing is g.
func (e Grid) Spacing() float64 { return math.Ldexp(1, int(e)) }

// rounder is the constant c with which (v + c) - c rounds v to a multiple of g. Near 1.5 * 2^52 g the
// spacing of float64 is exactly g, so that the addition rounds to the nearest multiple, ties to even.
func (e Grid) rounder() float64 { return math.Ldexp(1.5, int(e)+52) }

// Round is the multiple of g nearest to v, for |v| < 2^51 g.
func (e Grid) Round(v float64) float64 {
	c := e.rounder()
	return (v + c) - c
}

// Units converts a multiple of g to an integer, in units of g.
func (e Grid) Units(v float64) int64 { return int64(math.Ldexp(v, -int(e))) }

// Value converts an exact sum of units to the nearest float64.
func (e Grid) Value(units Int128) float64 { return math.Ldexp(units.Float64(), int(e)) }
