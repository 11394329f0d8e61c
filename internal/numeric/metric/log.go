package metric

import "math"

// The package has its own natural logarithm. math.Log is assembly on some processors and Go on others, with different
// bits. This one is a fixed sequence of single roundings.
//
//	x = 2^e m,  sqrt(1/2) <= m < sqrt(2),  f = m - 1,  s = f / (2 + f)
//	log m = 2 artanh s = f - s (f - R),    R = 2 (s^2/3 + s^4/5 + s^6/7 + ...)
//
// f is exact, and s (f - R) is small compared with it, so the rounding of s hardly matters. |s| <= 0.1716, and the
// terms after s^22 are below 2^-60 of the result. The error is below one unit in the last place, which a test checks.
const (
	ln2High  = 6.93147180369123816490e-01 // has 32 significant bits, so that e * ln2High is exact
	ln2Low   = 1.90821492927058770002e-10
	sqrtHalf = 0.70710678118654752440
)

// Log returns the natural logarithm of x, with the same bits on every machine. It returns -Inf for 0 and NaN for
// negative numbers.
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
