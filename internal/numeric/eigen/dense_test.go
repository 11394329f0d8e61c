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

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/invalid"
)

// upperOf returns the symmetric matrix whose upper triangle is that of a, row by row.
func upperOf(n int, a []float64) *mat.SymDense {
	m := NewSymmetric(n)
	for i := range n {
		for j := i; j < n; j++ {
			m.SetSym(i, j, a[i*n+j])
		}
	}
	return m
}

// pairsOf returns all eigenpairs of such a matrix.
func pairsOf(n int, a []float64) (values []float64, vectors [][]float64) {
	values, whole := DenseEigenpairs(upperOf(n, a))
	return values, ColumnsOf(whole)
}

// checkDense compares A x with value x entry by entry, and the vectors with each other.
func checkDense(t *testing.T, n int, a []float64) []float64 {
	t.Helper()
	values, vectors := pairsOf(n, a)
	if only, err := DenseEigenvalues(t.Context(), upperOf(n, a)); err != nil {
		t.Fatal(err)
	} else {
		for j, v := range only {
			if !(math.Abs(v-values[j]) <= 1e-13*float64(n+10)*max(math.Abs(values[0]), math.Abs(values[n-1]))) {
				t.Fatalf("n %d: value %d is %g, and %g without vectors", n, j, values[j], v)
			}
		}
	}
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
		n := 1 + rng.IntN(2*gonumRows)
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
				DenseEigenpairs(upperOf(n, a))
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
	const n = gonumRows + 10
	rng := rand.New(rand.NewPCG(1, 1))
	a := make([]float64, n*n)
	for at := range a {
		a[at] = rng.NormFloat64()
	}
	for times := range 2 * n { // as many steps as there are of tridiagonalize and diagonalize
		if _, _, err := LeadingEigenpairs(&endsAfter{t.Context(), times}, upperOf(n, a), all); !errors.Is(err,
			context.Canceled) {
			t.Fatalf("asked %d times, the error is %v", times, err)
		}
		if _, err := DenseEigenvalues(&endsAfter{t.Context(), times}, upperOf(n, a)); !errors.Is(err,
			context.Canceled) {
			t.Fatalf("asked %d times for eigenvalues, the error is %v", times, err)
		}
	}
}

func TestDenseOfKnownMatrices(t *testing.T) {
	for name, c := range map[string]struct{ a, want []float64 }{
		"one":        {[]float64{-3}, []float64{-3}},
		"zero":       {make([]float64, 9), []float64{0, 0, 0}},
		"diagonal":   {[]float64{2, 0, 0, -1}, []float64{2, -1}},
		"flip":       {[]float64{0, 1, 1, 0}, []float64{1, -1}},
		"all ones":   {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, []float64{3, 0, 0}},
		"chain of 3": {[]float64{2, -1, 0, -1, 2, -1, 0, -1, 2}, []float64{2 + math.Sqrt2, 2, 2 - math.Sqrt2}},
	} {
		got := checkDense(t, int(math.Sqrt(float64(len(c.a)))), c.a)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 1e-14 {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// Matrices at the ends of float64 are decomposed like any other, by gonum and by ours.
func TestDenseAtTheEndsOfFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 3, 10, 39, gonumRows, gonumRows + 1, 90} {
		a := make([]float64, n*n)
		for _, scale := range []float64{1, 1e300, 1e-290} {
			for i := range a {
				a[i] = scale * (rng.Float64() - 0.5)
			}
			checkDense(t, n, a)
		}
	}
}

// A matrix that is not finite is an error, or a panic where no error can be returned, not a hang.
func TestDenseOfAMatrixThatIsNotFinite(t *testing.T) {
	for _, n := range []int{2, gonumRows + 2} {
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			m := NewSymmetric(n)
			m.SetSym(0, 1, v)
			if _, _, err := LeadingEigenpairs(t.Context(), m, all); !errors.Is(err, invalid.MatrixNotFinite) {
				t.Errorf("%d rows with %v: %v", n, v, err)
			}
			if _, err := DenseEigenvalues(t.Context(), m); !errors.Is(err, invalid.MatrixNotFinite) {
				t.Errorf("%d rows with %v: %v", n, v, err)
			}
			if _, ok := Cholesky(m); ok {
				t.Errorf("%d rows with %v are factorized", n, v)
			}
		}
	}
}

// Both solvers find the same pairs where their sizes meet.
func TestTheDenseSolversAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a := NewSymmetric(gonumRows)
	for i := range gonumRows {
		for j := i; j < gonumRows; j++ {
			a.SetSym(i, j, rng.NormFloat64())
		}
	}
	values, vectors := DenseEigenpairs(a)
	others, otherVectors, err := householder(t.Context(), a, all)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range values {
		if math.Abs(v-others[j]) > 1e-12 {
			t.Errorf("value %d is %g, and %g by the other", j, v, others[j])
		}
	}
	if !mat.EqualApprox(vectors, otherVectors, 1e-9) {
		t.Error("the vectors differ")
	}
}

// A factorization reproduces its matrix. Where rounding has made a matrix indefinite, it is that of a matrix nearby.
func TestCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 5, 64, 67, 200, 257, 330} {
		for _, rank := range []int{n, n/2 + 1} {
			x := mat.NewDense(n, rank, nil)
			for i := range n {
				for j := range rank {
					x.Set(i, j, rng.NormFloat64())
				}
			}
			a := mat.NewSymDense(n, nil)
			a.SymOuterK(1, x)
			a.SetSym(0, 0, a.At(0, 0)-float64(0x1p-50*float64(n)))
			factor, ok := Cholesky(a)
			if !ok {
				t.Fatalf("%d rows of rank %d are not factorized", n, rank)
			}
			lower := factor.Lower()
			var product mat.Dense
			product.Mul(lower, lower.T())
			if !mat.EqualApprox(&product, a, 1e-11*float64(n)) {
				t.Errorf("%d rows of rank %d: another matrix is factorized", n, rank)
			}
		}
	}
}
