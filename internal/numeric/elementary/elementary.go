// Package elementary provides the exponential function, the logarithm and the inner product with the same bits on every
// machine. The functions of package math are assembly on some processors and Go on others, and may use fused
// multiply-add. Here each function is a fixed sequence of single roundings: the float64 conversions keep the compiler
// from fusing a product with a sum.
package elementary

import "math"

const (
	log2E    = 1.44269504088896338700e+00
	ln2High  = 6.93147180369123816490e-01 // has 32 significant bits, so that its product with an exponent is exact
	ln2Low   = 1.90821492927058770002e-10
	sqrtHalf = 0.70710678118654752440

	integerRounder = 1.5 * (1 << 52) // (v + integerRounder) - integerRounder rounds v to an integer, ties to even
	minExpArgument = -700            // below it e^x counts as 0, as it would be in float32
	maxExpArgument = 700
)

// Exp returns e^x: 0 below -700, and e^700 above 700. Its error is below two units in the last place.
//
//	x = m ln 2 + r,  |r| <= ln 2 / 2,   exp(x) = 2^m p(r)
//
// where p is the Taylor polynomial of degree 13, whose remainder 0.35^14/14! is below 2^-57. The SIMD code of package
// kernel computes the same bits.
func Exp(x float64) float64 {
	if x < minExpArgument {
		return 0
	}
	if x > maxExpArgument {
		x = maxExpArgument
	}
	m := (float64(x*log2E) + integerRounder) - integerRounder
	r := (x - float64(m*ln2High)) - float64(m*ln2Low)
	p := 1.0 / 6227020800
	p = float64(p*r) + 1.0/479001600
	p = float64(p*r) + 1.0/39916800
	p = float64(p*r) + 1.0/3628800
	p = float64(p*r) + 1.0/362880
	p = float64(p*r) + 1.0/40320
	p = float64(p*r) + 1.0/5040
	p = float64(p*r) + 1.0/720
	p = float64(p*r) + 1.0/120
	p = float64(p*r) + 1.0/24
	p = float64(p*r) + 1.0/6
	p = float64(p*r) + 1.0/2
	p = float64(p*r) + 1
	p = float64(p*r) + 1
	return p * math.Float64frombits(uint64(int64(m)+1023)<<52)
}

// Log returns the natural logarithm of x: -Inf for 0, and NaN for negative numbers. Its error is below one unit in the
// last place.
//
//	x = 2^e m,  sqrt(1/2) <= m < sqrt(2),  f = m - 1,  s = f / (2 + f)
//	log m = 2 artanh s = f - s (f - R),    R = 2 (s^2/3 + s^4/5 + s^6/7 + ...)
//
// f is exact, and s (f - R) is small compared with it, so the rounding of s hardly matters. |s| <= 0.1716, and the
// terms after s^22 are below 2^-60 of the result.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, exponent := math.Frexp(x) // exact
	if m < sqrtHalf {
		m *= 2
		exponent--
	}
	f := m - 1
	s := f / (2 + f)
	z := s * s
	r := 2.0 / 23
	r = float64(r*z) + 2.0/21
	r = float64(r*z) + 2.0/19
	r = float64(r*z) + 2.0/17
	r = float64(r*z) + 2.0/15
	r = float64(r*z) + 2.0/13
	r = float64(r*z) + 2.0/11
	r = float64(r*z) + 2.0/9
	r = float64(r*z) + 2.0/7
	r = float64(r*z) + 2.0/5
	r = float64(r*z) + 2.0/3
	r = float64(r * z)
	e := float64(exponent)
	small := float64(s*(f-r)) - float64(e*ln2Low)
	return float64(e*ln2High) - (small - f)
}

// Dot returns the inner product of two vectors of the same length, summed in order.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	sum := 0.0
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}
