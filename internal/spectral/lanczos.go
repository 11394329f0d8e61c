// Package spectral finds eigenvalues of a large symmetric operator from its products with vectors.
//
// All arithmetic is scalar Go in a fixed order: the same operator gives the same bits whoever
// computes its products.
package spectral

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Operator computes y = M x for a symmetric M of n rows.
type Operator func(ctx context.Context, x []float64) ([]float64, error)

// Extreme is an approximate least eigenvalue: some eigenvalue lies within Residual of Value, and
// Value is never below the least.
type Extreme struct {
	Value, Residual float64
	Steps           int
}

// Bounds of the Lanczos process.
const (
	maxSteps          = 300
	relativeResidual  = 1e-5  // of |Value|: good enough for a shift
	negligibleSpread  = 1e-10 // of the largest |eigenvalue|: zero for all purposes
	breakdownRelative = 1e-13
)

// Least finds the least eigenvalue by Lanczos with full reorthogonalisation from a random start.
func Least(ctx context.Context, n int, apply Operator, rng *rand.Rand) (Extreme, error) {
	basis := [][]float64{randomUnit(n, rng)}
	var alpha, beta []float64
	for {
		v := basis[len(basis)-1]
		w, err := apply(ctx, v)
		if err != nil {
			return Extreme{}, err
		}
		w = append([]float64(nil), w...)
		alpha = append(alpha, dot(v, w))
		for range 2 { // twice is enough to keep the basis orthogonal to rounding
			for _, u := range basis {
				subtractMultiple(w, u, dot(u, w))
			}
		}
		norm := math.Sqrt(dot(w, w))
		least, largest, last := extremes(alpha, beta)
		e := Extreme{Value: least, Residual: float64(norm * math.Abs(last)), Steps: len(alpha)}
		scale := max(math.Abs(least), math.Abs(largest))
		switch {
		case len(alpha) == n, norm <= breakdownRelative*scale:
			e.Residual = min(e.Residual, float64(breakdownRelative*scale)) // an invariant subspace
			return e, nil
		case e.Residual <= relativeResidual*math.Abs(least) && len(alpha) >= 10,
			e.Residual <= negligibleSpread*scale && len(alpha) >= 10,
			len(alpha) == maxSteps:
			return e, nil
		}
		for i := range w {
			w[i] /= norm
		}
		beta = append(beta, norm)
		basis = append(basis, w)
	}
}

func randomUnit(n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.Float64() - 0.5
	}
	norm := math.Sqrt(dot(v, v))
	if norm == 0 {
		v[0], norm = 1, 1
	}
	for i := range v {
		v[i] /= norm
	}
	return v
}

// dot sums each tile in row order, then the tiles in tile order.
func dot(x, y []float64) float64 {
	return partition.Sum(len(x), func(i int) float64 { return float64(x[i] * y[i]) })
}

func subtractMultiple(w, u []float64, factor float64) {
	for i, v := range u {
		w[i] -= float64(factor * v)
	}
}
