// Package raw is what the binary formats of tables share: how they store numbers, and how they compress them.
package raw

import (
	"math"
	"math/big"
)

// Half converts an IEEE 754 half: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.
func Half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1F), float64(bits&0x3FF)
	var value float64
	switch exponent {
	case 0:
		value = math.Ldexp(fraction, -24)
	case 0x1F:
		if fraction != 0 {
			return math.NaN()
		}
		value = math.Inf(1)
	default:
		value = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(value, 1-2*float64(bits>>15))
}

// MaxScale is that of decimals.
const MaxScale = 100

// Decimal is unscaled / 10^scale, rounded once.
func Decimal(unscaled *big.Int, scale int) float64 {
	const exact = 22 // powers of ten up to this are exact
	if scale <= exact && unscaled.IsInt64() {
		if v := unscaled.Int64(); v >= -1<<53 && v <= 1<<53 {
			return float64(v) / math.Pow10(scale)
		}
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	v, _ := new(big.Rat).SetFrac(unscaled, power).Float64()
	return v
}

// SignedBytes is an integer in two's complement, its highest byte first.
func SignedBytes(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}
