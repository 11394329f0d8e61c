package embedding

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// hear feeds residuals to a forecast, ten products a step, and returns what it says after the last.
func hear(f *forecast, residuals ...float64) (left int, known bool) {
	for at, residual := range residuals {
		left, known = f.next(residual, 10*(at+1))
	}
	return left, known
}

// A residual that comes down by the same factor in every step arrives when it is said to.
func TestForecastOfASteadySolver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.1, 0.9).Draw(t, "factor")
		steps := rapid.IntRange(minSteps, 60).Draw(t, "steps")
		f := &forecast{tolerance: 1e-8, products: math.MaxInt32}
		residual := 1.0
		for at := range steps {
			if residual *= factor; residual <= f.tolerance {
				return
			}
			left, known := f.next(residual, 10*(at+1))
			if known != (at+1 >= minSteps) {
				t.Fatalf("after step %d it is known: %v", at+1, known)
			}
			want := math.Log(f.tolerance/residual) / math.Log(factor)
			if known && math.Abs(float64(left)-want) > 2+0.25*want {
				t.Fatalf("after step %d of factor %g: %d steps left, not %g", at+1, factor, left, want)
			}
		}
	})
}

// Where a residual shows no way down, nothing is said.
func TestForecastSaysNothing(t *testing.T) {
	for name, residuals := range map[string][]float64{
		"too few":  {1, 0.5, 0.25, 0.125, 0.0625},
		"flat":     {1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01},
		"rising":   {1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100},
		"noise":    {0.3, 0.1, 0.3, 0.2, 0.1, 0.3, 0.1, 0.25, 0.3, 0.1},
		"infinite": {math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)},
		"nothing":  {math.NaN(), 1, 1, 1, math.NaN(), 1, math.NaN()},
	} {
		if left, known := hear(&forecast{tolerance: 1e-8, products: 1000}, residuals...); known {
			t.Errorf("%s: %d steps left", name, left)
		}
	}
}

func TestForecastEnds(t *testing.T) {
	falling := []float64{1, 0.5, 0.25, 0.125, 1. / 16, 1. / 32, 1. / 64, 1. / 128}
	if left, known := hear(&forecast{tolerance: 1. / 128, products: 1000}, falling...); !known || left != 0 {
		t.Errorf("at the tolerance %d steps are left, %v", left, known)
	}
	if left, known := hear(&forecast{tolerance: 1e-200, products: 100}, falling...); !known || left != 2 {
		t.Errorf("20 products before the end, at 10 a step, %d steps are left, %v", left, known)
	}
	if left, known := hear(&forecast{tolerance: 1e-200, products: 10}, falling...); !known || left != 1 {
		t.Errorf("past the end %d steps are left, %v", left, known)
	}
}

func TestLogarithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "fraction"), rapid.IntRange(-1000, 1000).Draw(t, "exponent"))
		if got, want := log2(v), math.Log2(v); math.Abs(got-want) > 0.09 {
			t.Fatalf("log2(%g) is %g, not %g", v, got, want)
		}
	})
	if log2(1) != 0 || log2(8) != 3 || log2(0.25) != -2 || log2(0) > log2(math.SmallestNonzeroFloat64) {
		t.Error("powers of two are not exact")
	}
}
