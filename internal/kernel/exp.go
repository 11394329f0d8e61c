package kernel

import "math"

// Our own exponential. math.Exp may use fused multiply-add, depending on the processor, and so has
// different bits on different machines. This one is a fixed sequence of single roundings, the same in
// scalar and SIMD code.
//
//	x = m ln 2 + r,  |r| <= ln 2 / 2,   exp(x) = 2^m p(r)
//
// where p is the Taylor polynomial of degree 13, whose remainder 0.35^14/14! is below 2^-57. Every
// product is rounded before it is added: the float64 conversions keep the compiler from fusing them.
const (
	log2E          = 1.44269504088896338700e+00
	ln2High        = 6.93147180369123816490e-01 // has 32 significant bits, so that m * ln2High is exact
	ln2Low         = 1.90821492927058770002e-10
	integerRounder = 1.5 * (1 << 52) // (v + toNear) - toNear rounds v to an integer, ties to even
	minExpArgument = -700            // below it the result is 0, as it would be in float32 anyway
	maxExpArgument = 700
)

// exp is e^x; arguments above maxExpArgument count as maxExpArgument.
func exp(x float64) float64 {
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

// Exp is e^x with the same bits on every machine: 0 below -700, and e^700 above 700.
func Exp(x float64) float64 { return exp(x) }

// tanh is (1 - e^-2|z|) / (1 + e^-2|z|) with the sign of z, so that tanh(-z) = -tanh(z) to the bit.
func tanh(z float64) float64 {
	t := exp(-2 * math.Abs(z))
	return math.Copysign((1-t)/(1+t), z)
}

// power is v^p by repeated squaring in a fixed order, p >= 1.
func power(v float64, p int) float64 {
	result := 1.0
	for {
		if p&1 == 1 {
			result *= v
		}
		if p >>= 1; p == 0 {
			return result
		}
		v *= v
	}
}
