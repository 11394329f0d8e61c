package kernel

import "math"

// In half precision, entries are stored in 16 bits, scaled by a power of two so that the largest fills the range.
// Answers differ from those in single precision, because entries keep only 11 significant bits (a relative error of at
// most 2^-11, down to 2^-29 of the largest entry). They are as reproducible: an entry has the same bits stored or
// recomputed, and sums are exact, because a multiple of the grid that is rounded to 11 bits is still one.

// minHalfExponent is the exponent of the smallest scale: its inverse is still a float32. With that scale, every float32
// is a multiple of the smallest float16, so smaller ones would gain nothing.
const minHalfExponent = -127

// halfScaleFor returns the power of two to divide entries of at most this magnitude by, so that the largest is below
// 2^15, half of what float16 can hold.
func halfScaleFor(largest float64) float64 {
	if !(largest > 0) {
		return 1
	}
	_, exponent := math.Frexp(largest) // largest < 2^exponent
	return math.Ldexp(1, max(exponent-15, minHalfExponent))
}

// roundHalf rounds entries to half precision and back, in place, if the matrix is stored in half precision.
func (s *Source) roundHalf(column []float32, buffer *[]uint16) {
	if s.spec.HalfScale == 0 {
		return
	}
	if cap(*buffer) < len(column) {
		*buffer = make([]uint16, len(column))
	}
	half := (*buffer)[:len(column)]
	s.routines.toHalf(half, column, float32(1/s.spec.HalfScale))
	s.routines.fromHalf(column, half, float32(s.spec.HalfScale))
}

// toHalf returns the float16 nearest to v, ties to even. |v| must be below 65520.
func toHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits>>16) & 0x8000
	exponent := int(bits>>23&0xff) - 127
	mantissa := bits&0x7fffff | 0x800000
	switch {
	case exponent < -25:
		return sign
	case exponent < -14: // subnormal: fewer bits
		return sign | roundShift(mantissa, uint(-exponent-1))
	}
	// The carry of rounding moves into the exponent by itself.
	return sign | uint16(exponent+14)<<10 + roundShift(mantissa, 13)
}

// roundShift returns m / 2^shift, rounded to the nearest integer, ties to even.
func roundShift(m uint32, shift uint) uint16 {
	rest := m & (1<<shift - 1)
	m >>= shift
	if half := uint32(1) << (shift - 1); rest > half || rest == half && m&1 == 1 {
		m++
	}
	return uint16(m)
}

// fromHalf returns the exact value of h, which must be finite.
func fromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, mantissa := uint32(h>>10&0x1f), uint32(h&0x3ff)
	if exponent == 0 {
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*0x1p-24))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}

func toHalfPortable(dst []uint16, src []float32, scale float32) {
	for i, v := range src[:len(dst)] {
		dst[i] = toHalf(v * scale)
	}
}

func fromHalfPortable(dst []float32, src []uint16, scale float32) {
	for i, h := range src[:len(dst)] {
		dst[i] = fromHalf(h) * scale
	}
}
