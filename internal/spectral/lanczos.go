package spectral

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Product computes y = M x for a symmetric M of n rows.
type Product func(ctx context.Context, x []float64) ([]float64, error)

// Extreme is an approximate least eigenvalue: some eigenvalue lies within Residual of Value, and
// Value is never below the least.
type Extreme struct {
	Value, Residual float64
	Steps           int
}

// Bounds of the Lanczos process.
const (
	maxSteps          = 300
	minSteps          = 30    // before a residual is believed: the least may not have shown yet
	relativeResidual  = 1e-3  // of |Value|: good enough for a shift
	negligibleSpread  = 1e-10 // of the largest |eigenvalue|: zero for all purposes
	breakdownRelative = 1e-13
	orthogonalRows    = 4096
)

// Least finds the least eigenvalue by the Lanczos recurrence from a random start. Small problems keep
// their vectors orthogonal, and so find even eigenvalues at the level of rounding. Large ones do not
// keep them at all: what the vectors lose in rounding shows as copies of Ritz values that have
// converged already, never as one beyond the spectrum, and the residual stays what it says (Paige
// 1980), so that the value is as good for a fraction of the work and the memory.
func Least(ctx context.Context, n int, apply Product, rng *rand.Rand) (Extreme, error) {
	var alpha, beta []float64
	var basis [][]float64
	v, previous := randomUnit(n, rng), make([]float64, n)
	for {
		if n <= orthogonalRows {
			basis = append(basis, v)
		}
		product, err := apply(ctx, v)
		if err != nil {
			return Extreme{}, err
		}
		w := append([]float64(nil), product...)
		if last := len(beta) - 1; last >= 0 {
			subtractMultiple(w, previous, beta[last])
		}
		alpha = append(alpha, dot(v, w))
		subtractMultiple(w, v, alpha[len(alpha)-1])
		for range 2 { // twice is enough
			for _, u := range basis {
				subtractMultiple(w, u, dot(u, w))
			}
		}
		norm := math.Sqrt(dot(w, w))
		least, largest, lastComponent := extremes(alpha, beta)
		e := Extreme{Value: least, Residual: float64(norm * math.Abs(lastComponent)), Steps: len(alpha)}
		scale := max(math.Abs(least), math.Abs(largest))
		switch {
		case norm <= breakdownRelative*scale, len(basis) == n: // an invariant subspace
			e.Residual = min(e.Residual, float64(breakdownRelative*scale))
			return e, nil
		case len(alpha) < minSteps:
		case e.Residual <= relativeResidual*math.Abs(least), e.Residual <= negligibleSpread*scale, len(alpha) == maxSteps:
			return e, nil
		}
		for i := range w {
			w[i] /= norm
		}
		beta = append(beta, norm)
		v, previous = w, v
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
	total, height := 0.0, partition.TileRows(len(x))
	for len(x) > 0 {
		rows := min(height, len(x))
		total += plainDot(x[:rows], y)
		x, y = x[rows:], y[rows:]
	}
	return total
}
