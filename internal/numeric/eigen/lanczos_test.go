package eigen

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func operator(m *mat.SymDense) Product {
	n := m.SymmetricDim()
	return func(_ context.Context, x []float64) ([]float64, error) {
		y := make([]float64, n)
		for i := range y {
			for j := range x {
				y[i] += m.At(i, j) * x[j]
			}
		}
		return y, nil
	}
}

// The least Ritz value is at or above the least eigenvalue, and within its residual of it, for spectra that are
// spread out, clustered, repeated, positive and tiny.
func TestLeastAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 60 {
		n := 1 + rng.IntN(80)
		q := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				q.Set(i, j, rng.NormFloat64())
			}
		}
		var qr mat.QR
		qr.Factorize(q)
		qr.QTo(q)
		values := make([]float64, n)
		for i := range values {
			switch trial % 4 {
			case 0:
				values[i] = rng.NormFloat64()
			case 1:
				values[i] = math.Round(2 * rng.NormFloat64()) // repeated
			case 2:
				values[i] = math.Exp(-float64(i)) // positive, decaying
			case 3:
				values[i] = -5 + 1e-3*rng.Float64() // clustered at the bottom
			}
		}
		m := mat.NewSymDense(n, nil)
		least := math.Inf(1)
		for _, v := range values {
			least = min(least, v)
		}
		for i := range n {
			for j := i; j < n; j++ {
				sum := 0.0
				for l, v := range values {
					sum += q.At(i, l) * v * q.At(j, l)
				}
				m.SetSym(i, j, sum)
			}
		}
		got, err := Least(context.Background(), n, operator(m), rand.NewPCG(7, 7))
		if err != nil {
			t.Fatal(err)
		}
		if got.Value < least-1e-9 || got.Value-got.Residual > least+1e-9+1e-2*math.Abs(least) {
			t.Errorf("trial %d, n %d: value %g, residual %g, least eigenvalue %g", trial, n, got.Value,
				got.Residual, least)
		}
	}
}

func TestLeastIsReproducible(t *testing.T) {
	m := mat.NewSymDense(3, []float64{2, -1, 0, -1, 2, -1, 0, -1, 2})
	first, err := Least(context.Background(), 3, operator(m), rand.NewPCG(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Least(context.Background(), 3, operator(m), rand.NewPCG(1, 1))
	if err != nil || first != second || math.Abs(first.Value-(2-math.Sqrt2)) > 1e-12 {
		t.Errorf("%+v and %+v, %v", first, second, err)
	}
}

func TestLeastPassesErrorsOn(t *testing.T) {
	lost := errors.New("lost")
	_, err := Least(context.Background(), 3, func(context.Context, []float64) ([]float64, error) {
		return nil, lost
	}, rand.NewPCG(1, 1))
	if !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
}

// The extreme eigenvalues, and the last components of their vectors, are those that gonum finds.
func TestExtremesAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		m := 1 + rng.IntN(30)
		alpha := make([]float64, m)
		beta := make([]float64, m)
		full := mat.NewSymDense(m, nil)
		for i := range alpha {
			alpha[i], beta[i] = rng.NormFloat64(), math.Abs(rng.NormFloat64())
			full.SetSym(i, i, alpha[i])
			if i > 0 {
				full.SetSym(i-1, i, beta[i-1])
			}
		}
		least, largest, last := extremes(alpha, beta[:m-1])
		var e mat.EigenSym
		var vectors mat.Dense
		e.Factorize(full, true)
		e.VectorsTo(&vectors)
		want := e.Values(nil)
		if math.Abs(least-want[0]) > 1e-10 || math.Abs(largest-want[m-1]) > 1e-10 ||
			math.Abs(math.Abs(last)-math.Abs(vectors.At(m-1, 0))) > 1e-7 {
			t.Fatalf("m %d: %g..%g with last %g, want %g..%g with %g", m, least, largest, last, want[0], want[m-1],
				vectors.At(m-1, 0))
		}
	}
}
