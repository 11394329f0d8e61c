package eigen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkDense compares A x with value x entry by entry, and the vectors with each other.
func checkDense(t *testing.T, n int, a []float64) []float64 {
	t.Helper()
	values, vectors := DenseEigenpairs(n, a)
	scale := 0.0
	for _, v := range a {
		scale = max(scale, math.Abs(v))
	}
	for j, x := range vectors {
		if j > 0 && values[j] > values[j-1] {
			t.Fatalf("value %d is %g after %g", j, values[j], values[j-1])
		}
		for i := range n {
			y := 0.0
			for l, v := range x {
				y += a[min(i, l)*n+max(i, l)] * v
			}
			if !(math.Abs(y-values[j]*x[i]) <= 1e-13*float64(n+10)*scale) {
				t.Fatalf("n %d: row %d of A x is %g, of value x %g", n, i, y, values[j]*x[i])
			}
		}
		for l := range j + 1 {
			want := 0.0
			if l == j {
				want = 1
			}
			if got := plainDot(x, vectors[l]); !(math.Abs(got-want) <= 1e-13*float64(n+10)) {
				t.Fatalf("n %d: vectors %d and %d have product %g", n, j, l, got)
			}
		}
		if at := slices.MaxFunc(x, func(p, q float64) int { return cmp.Compare(math.Abs(p), math.Abs(q)) }); at < 0 {
			t.Fatalf("vector %d has its largest entry negative: %g", j, at)
		}
	}
	return values
}

func TestDenseOfRandomMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		n := 1 + rng.IntN(70)
		a := make([]float64, n*n)
		for i := range a {
			switch trial % 5 {
			case 0:
				a[i] = rng.NormFloat64()
			case 1:
				a[i] = float64(rng.IntN(2)) // repeated values
			case 2:
				a[i] = 1e200 * rng.NormFloat64()
			case 3:
				if rng.IntN(n) == 0 {
					a[i] = 1e-200 * rng.NormFloat64() // decoupled, tiny
				}
			case 4:
				a[i] = 1 // rank 1
			}
		}
		checkDense(t, n, a)
	}
	checkDense(t, 4, make([]float64, 16))
}

// The adjacency matrix of a path has the eigenvalues 2 cos(pi j / (n+1)).
func TestDenseOfAPath(t *testing.T) {
	const n = 300
	a := make([]float64, n*n)
	for i := range n - 1 {
		a[i*n+i+1] = 1
	}
	for j, v := range checkDense(t, n, a) {
		if want := 2 * math.Cos(math.Pi*float64(j+1)/(n+1)); math.Abs(v-want) > 1e-12 {
			t.Fatalf("value %d: %g, want %g", j, v, want)
		}
	}
}

// Beliefs involve few of the vertices, so that many eigenvalues are 0. What rounding leaves in their rows must not
// grow into other eigenvalues.
func TestDenseOfBeliefs(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	for range 150 {
		n := 30 + rng.IntN(60)
		a := blocks(n, 1, 6, 0, rng)
		q := beliefs(n, 2+rng.IntN(2), 10+rng.IntN(20), rng)
		checkDense(t, n, q.scaled(a.sums()).dense())
	}
}

func BenchmarkDense(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{500, 1000, 2000} {
		a := make([]float64, n*n)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				DenseEigenpairs(n, a)
			}
		})
	}
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

// Every part of a decomposition ends with its context.
func TestADenseDecompositionEndsWithItsContext(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(1, 1))
	a := make([]float64, n*n)
	for at := range a {
		a[at] = rng.NormFloat64()
	}
	for times := range 2 * n { // as many steps as there are of tridiagonalize and diagonalize
		if _, _, err := LeadingEigenpairs(&endsAfter{t.Context(), times}, n, a, func([]float64) int { return n }); !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times, the error is %v", times, err)
		}
		if _, err := DenseEigenvalues(&endsAfter{t.Context(), times}, n, a); !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times for eigenvalues, the error is %v", times, err)
		}
	}
}
