package eigen

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// Without orthogonalization the value is as good, for the adjacency matrix of a long path, whose eigenvalues
// 2 cos(pi j / (n+1)) crowd at both ends, and for a diagonal matrix with one value far below the others.
func TestLeastOfLargeOperators(t *testing.T) {
	const n = 3 * orthogonalRows
	path := func(_ context.Context, x []float64) ([]float64, error) {
		y := make([]float64, n)
		for i := range y {
			if i > 0 {
				y[i] += x[i-1]
			}
			if i < n-1 {
				y[i] += x[i+1]
			}
		}
		return y, nil
	}
	outlier := func(_ context.Context, x []float64) ([]float64, error) {
		y := make([]float64, n)
		for i := range y {
			y[i] = x[i] * float64(i) / n
		}
		y[n/2] = -3 * x[n/2]
		return y, nil
	}
	for name, c := range map[string]struct {
		apply Product
		least float64
	}{
		"path":    {path, -2 * math.Cos(math.Pi/(n+1))},
		"outlier": {outlier, -3},
	} {
		got, err := Least(context.Background(), n, c.apply, rand.NewPCG(3, 3))
		if err != nil {
			t.Fatal(err)
		}
		if got.Value < c.least-1e-9 || got.Value-got.Residual > c.least*(1-0.02) {
			t.Errorf("%s: %+v, want %g", name, got, c.least)
		}
	}
}
