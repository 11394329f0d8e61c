package metric

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// checkEigen verifies A v = lambda v and V V' = I, to rounding.
func checkEigen(t *testing.T, d int, a []float64) []float64 {
	t.Helper()
	values, vectors, err := eigen(t.Context(), d, a)
	if err != nil {
		t.Fatal(err)
	}
	norm := 0.0
	for _, v := range a {
		norm = math.Max(norm, math.Abs(v))
	}
	tolerance := 1e-14 * float64(d)
	for c, value := range values {
		v := vectors[c*d : (c+1)*d]
		for i := range d {
			product := 0.0
			for j := range d {
				product += a[i*d+j] / max(norm, 5e-324) * v[j]
			}
			if off := math.Abs(product - value/max(norm, 5e-324)*v[i]); norm > 0 && off > tolerance {
				t.Fatalf("d = %d: A v - lambda v is %g of the norm for eigenvalue %g", d, off, value)
			}
		}
		for e := range c + 1 {
			product, want := 0.0, 0.0
			if e == c {
				want = 1
			}
			for i, x := range v {
				product += x * vectors[e*d+i]
			}
			if math.Abs(product-want) > tolerance {
				t.Fatalf("d = %d: vectors %d and %d have product %g", d, c, e, product)
			}
		}
	}
	slices.Sort(values)
	return values
}

func TestEigenDecomposes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for d := range 40 {
		d++
		a := make([]float64, d*d)
		for i := range d {
			for j := range i + 1 {
				a[i*d+j] = rng.NormFloat64()
				a[j*d+i] = a[i*d+j]
			}
		}
		checkEigen(t, d, a)
		for i := range a { // the same at the ends of float64
			a[i] *= 1e300
		}
		checkEigen(t, d, a)
		for i := range a {
			a[i] *= 1e-300 * 1e-290
		}
		checkEigen(t, d, a)
	}
}

func TestEigenOfKnownMatrices(t *testing.T) {
	for name, c := range map[string]struct{ a, want []float64 }{
		"one":        {[]float64{-3}, []float64{-3}},
		"zero":       {make([]float64, 9), []float64{0, 0, 0}},
		"diagonal":   {[]float64{2, 0, 0, -1}, []float64{-1, 2}},
		"flip":       {[]float64{0, 1, 1, 0}, []float64{-1, 1}},
		"all ones":   {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, []float64{0, 0, 3}},
		"chain of 3": {[]float64{2, -1, 0, -1, 2, -1, 0, -1, 2}, []float64{2 - math.Sqrt2, 2, 2 + math.Sqrt2}},
	} {
		got := checkEigen(t, int(math.Sqrt(float64(len(c.a)))), c.a)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 1e-14 {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

func spreadOf(t testing.TB, m *Metric) float64 {
	t.Helper()
	spread, err := m.Spread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return spread
}

// endsAfter is a context that has ended once it was asked a number of times.
type endsAfter struct {
	context.Context
	times int
}

func (c *endsAfter) Err() error {
	if c.times--; c.times < 0 {
		return context.Canceled
	}
	return nil
}

// A sweep of rotations ends with its context, and so does the update that it is a part of.
func TestAnUpdateEndsWithItsContext(t *testing.T) {
	const d = 30
	m := randomMetric(t, rand.New(rand.NewPCG(1, 1)), Full, d)
	step := &Step{PenaltyKind: Potts, Scatter: m.Values()}
	for times := range 2 * d {
		if _, err := step.Update(&endsAfter{t.Context(), times}, m); !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times, the error is %v", times, err)
		}
	}
}

func BenchmarkEigen(b *testing.B) {
	for _, d := range []int{50, 100, 300} {
		b.Run(strconv.Itoa(d), func(b *testing.B) {
			m := randomMetric(b, rand.New(rand.NewPCG(1, 1)), Full, d)
			for b.Loop() {
				if _, _, err := eigen(b.Context(), d, m.Values()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
