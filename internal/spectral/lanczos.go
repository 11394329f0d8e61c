package spectral

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Product computes M x for a symmetric matrix M.
type Product func(ctx context.Context, x []float64) ([]float64, error)

// LeastEigenvalue is an approximation: some eigenvalue is within Residual of Value, and Value is never below the
// least eigenvalue.
type LeastEigenvalue struct {
	Value, Residual float64
	Steps           int
}

// Bounds of the Lanczos process.
const (
	maxSteps          = 300
	minSteps          = 30    // before a residual is trusted: the least eigenvalue may not have appeared yet
	relativeResidual  = 1e-3  // relative to |Value|: good enough for a shift
	negligibleSpread  = 1e-10 // relative to the largest |eigenvalue|: as good as 0
	breakdownRelative = 1e-13
	orthogonalRows    = 4096
)

// Least finds the least eigenvalue by the Lanczos recurrence from a random start. Small problems keep all vectors
// and make new ones orthogonal to them, and so find even eigenvalues at the level of rounding. Large problems do
// not keep them. The loss of orthogonality only causes copies of Ritz values that have converged already, never
// values beyond the spectrum, and residuals stay valid (Paige 1980), so that the result is as good for a
// fraction of the work and the memory.
func Least(ctx context.Context, n int, apply Product, rng *rand.Rand) (LeastEigenvalue, error) {
	var alpha, beta []float64
	var basis [][]float64
	v, previous := randomUnit(n, rng), make([]float64, n)
	for {
		if n <= orthogonalRows {
			basis = append(basis, v)
		}
		product, err := apply(ctx, v)
		if err != nil {
			return LeastEigenvalue{}, err
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
		e := LeastEigenvalue{Value: least, Residual: float64(norm * math.Abs(lastComponent)), Steps: len(alpha)}
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
