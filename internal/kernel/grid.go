package kernel

import (
	"math"
	"math/bits"
)

// Int128 is a signed 128-bit integer in two's complement: an exact sum of grid units.
type Int128 struct {
	Lo uint64
	Hi int64
}

// Add returns a + b.
func (a Int128) Add(b Int128) Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return Int128{Lo: lo, Hi: int64(hi)}
}

// AddInt64 returns a + v.
func (a Int128) AddInt64(v int64) Int128 { return a.Add(Int128{Lo: uint64(v), Hi: v >> 63}) }

// Float64 returns the nearest float64, ties to even.
func (a Int128) Float64() float64 {
	negative := a.Hi < 0
	lo, hi := a.Lo, uint64(a.Hi)
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	value := 0.0
	if hi == 0 {
		value = float64(lo) // one correct rounding
	} else {
		// Keep the leading 64 bits. The lowest bit kept records whether any of the bits cut off is set (a "sticky
		// bit"), so that the conversion rounds correctly.
		shift := uint(bits.Len64(hi))
		lead := hi<<(64-shift) | lo>>shift
		if lo<<(64-shift) != 0 {
			lead |= 1
		}
		value = math.Ldexp(float64(lead), int(shift))
	}
	if negative {
		return -value
	}
	return value
}

// Grid is the exponent e of the spacing g = 2^e that every entry of M is a multiple of.
type Grid int

// GridFor returns the finest grid on which row sums are exact when every row's absolute sum is at most bound: 2 bound
// <= 2^52 g. The factor 2 leaves room for the sparse part. It returns 0 unless bound is positive.
func GridFor(bound float64) Grid {
	if !(bound > 0) {
		return 0
	}
	_, exponent := math.Frexp(bound) // bound < 2^exponent
	return Grid(exponent + 1 - 52)
}

// Spacing returns g.
func (e Grid) Spacing() float64 { return math.Ldexp(1, int(e)) }

// Rounder returns the constant c for which (v + c) - c rounds v to a multiple of g. Near 1.5 * 2^52 g the spacing of
// float64 is exactly g, so the addition rounds to the nearest multiple, ties to even.
func (e Grid) Rounder() float64 { return math.Ldexp(1.5, int(e)+52) }

// Round returns the multiple of g nearest to v. |v| must be less than 2^51 g.
func (e Grid) Round(v float64) float64 {
	c := e.Rounder()
	return (v + c) - c
}

// Units converts a multiple of g to an integer, in units of g.
func (e Grid) Units(v float64) int64 { return int64(math.Ldexp(v, -int(e))) }

// Scale returns two factors for Units of many values: v times both is the integer in units of g. One factor alone may
// be beyond float64.
func (e Grid) Scale() (half, rest float64) {
	up := -int(e)
	return math.Ldexp(1, up/2), math.Ldexp(1, up-up/2)
}

// Value converts an exact sum of units to the nearest float64.
func (e Grid) Value(units Int128) float64 { return math.Ldexp(units.Float64(), int(e)) }
