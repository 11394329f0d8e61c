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

// Add is a + b.
func (a Int128) Add(b Int128) Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return Int128{Lo: lo, Hi: int64(hi)}
}

// AddInt64 is a + v.
func (a Int128) AddInt64(v int64) Int128 { return a.Add(Int128{Lo: uint64(v), Hi: v >> 63}) }

// Float64 is the nearest float64, ties to even.
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
		// Keep the leading 64 bits. Of the bits that are cut off it only matters whether any is set: the
		// lowest bit kept records that ("sticky bit"), and the conversion rounds correctly.
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
