package elementary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bigBits = 160

func bigFloat(v float64) *big.Float { return new(big.Float).SetPrec(bigBits).SetFloat64(v) }

// bigArtanh sums s + s^3/3 + s^5/5 + ... until the terms vanish.
func bigArtanh(s *big.Float) *big.Float {
	sum := new(big.Float).Set(s)
	power := new(big.Float).Set(s)
	square := new(big.Float).Mul(s, s)
	for n := 3.0; ; n += 2 {
		power.Mul(power, square)
		term := new(big.Float).Quo(power, bigFloat(n))
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-bigBits {
			return sum
		}
		sum.Add(sum, term)
	}
}

// bigLog is 2 artanh((m-1)/(m+1)) + e log 2, with log 2 = 2 artanh(1/3).
func bigLog(x float64) *big.Float {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := new(big.Float).Quo(new(big.Float).Sub(bigFloat(m), bigFloat(1)), new(big.Float).Add(bigFloat(m), bigFloat(1)))
	ln2 := bigArtanh(new(big.Float).Quo(bigFloat(1), bigFloat(3)))
	sum := new(big.Float).Add(bigArtanh(s), ln2.Mul(ln2, bigFloat(float64(e))))
	return sum.Mul(sum, bigFloat(2))
}

func TestLogIsWithinOneUnitInTheLastPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	worst, worstAt := 0.0, 0.0
	check := func(x float64) {
		exact := bigLog(x)
		nearest, _ := exact.Float64()
		unit := math.Abs(math.Nextafter(nearest, math.Inf(1)) - nearest)
		off, _ := new(big.Float).Quo(exact.Sub(exact, bigFloat(Log(x))), bigFloat(unit)).Float64()
		if off = math.Abs(off); off > worst {
			worst, worstAt = off, x
		}
	}
	for range 6_000 {
		check(math.Exp(rng.NormFloat64()))                    // around 1, where logarithms cancel
		check(1 + 1e-3*rng.NormFloat64())                     // very near 1
		check(math.Ldexp(rng.Float64(), rng.IntN(2000)-1000)) // everywhere
	}
	for _, x := range []float64{5e-324, 2.2250738585072014e-308, 1e-12, 0.5, math.Sqrt2 / 2,
		math.Nextafter(math.Sqrt2/2, 0),
		math.Nextafter(1, 0), math.Nextafter(1, 2), math.Sqrt2, 2, math.E, 1e300, math.MaxFloat64} {
		check(x)
	}
	t.Logf("worst %.3f units at %g", worst, worstAt)
	if worst > 1 {
		t.Errorf("Log(%g) is %.3f units in the last place off", worstAt, worst)
	}
}

func TestLogAtItsEnds(t *testing.T) {
	if Log(1) != 0 || !math.IsInf(Log(0), -1) || !math.IsInf(Log(math.Inf(1)), 1) || !math.IsNaN(Log(-1)) ||
		!math.IsNaN(Log(math.NaN())) {
		t.Errorf("%v %v %v %v %v", Log(1), Log(0), Log(math.Inf(1)), Log(-1), Log(math.NaN()))
	}
}

// Our exponential is within two units in the last place of the true one.
func TestExpIsAccurate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		x := -720 + 1400*rng.Float64()
		if rng.IntN(2) == 0 {
			x = rng.NormFloat64()
		}
		got := Exp(x)
		want := math.Exp(min(x, maxExpArgument))
		if x < minExpArgument {
			want = 0
		}
		if math.Abs(got-want) > 4*0x1p-53*want {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
	}
	if Exp(0) != 1 || Exp(math.Inf(-1)) != 0 {
		t.Error("Exp(0) must be 1 and Exp(-Inf) 0")
	}
}

// The bits of the exponential are part of the numeric class: they must never change.
func TestExpBitsArePinned(t *testing.T) {
	for x, bits := range map[float64]uint64{-0.5: 0x3fe368b2fc6f960a, -10: 0x3f07cd79b5647c9a, -3.7: 0x3f99511fc6871044,
		0.3: 0x3ff599058c8c1a96} {
		if got := math.Float64bits(Exp(x)); got != bits {
			t.Errorf("Exp(%v) has bits %#x, want %#x", x, got, bits)
		}
	}
}

// Products are added in order: the large ones here cancel only after the small one was lost.
func TestDotAddsInOrder(t *testing.T) {
	if got := Dot([]float64{1e16, 1, -1e16, 3}, []float64{1, 1, 1, 2}); got != 6 {
		t.Errorf("the product is %g", got)
	}
}
