package eigen

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Product computes M x for a symmetric matrix M.
type Product func(ctx context.Context, x []float64) ([]float64, error)

// LeastEigenvalue approximates the least eigenvalue: some eigenvalue is within Residual of Value, and Value is never
// below the least one.
type LeastEigenvalue struct {
	Value, Residual float64
	Steps           int
}

// Limits of the Lanczos process.
const (
	maxSteps          = 300
	minSteps          = 30    // before a residual is trusted, because the least eigenvalue may not have appeared yet
	relativeResidual  = 1e-3  // relative to |Value|: good enough for a shift
	negligibleSpread  = 1e-10 // relative to the largest |eigenvalue|: smaller residuals count as 0
	breakdownRelative = 1e-13
	orthogonalRows    = 4096
)

// Least finds the least eigenvalue by the Lanczos recurrence from a random start. Small problems keep all vectors
// and make new ones orthogonal to them, and so find even eigenvalues at the level of rounding. Large problems do
// not keep them. The loss of orthogonality only causes copies of Ritz values that have converged already, never
// values beyond the spectrum, and residuals stay valid (Paige 1980), so that the result is as good for a
// fraction of the work and the memory.
func Least(ctx context.Context, n int, apply Product, rng *rand.Rand) (LeastEigenvalue, error) {
	l := &lanczos{v: randomUnit(n, rng), previous: make([]float64, n)}
	piece := snapshot.Open(ctx, "least")
	l.restore(piece.State(), n)
	for {
		l.offer(piece)
		e, ended, err := l.step(ctx, n, apply)
		if err != nil || ended {
			return e, err
		}
	}
}

// lanczos is the recurrence after some steps.
type lanczos struct {
	alpha, beta []float64
	basis       [][]float64
	v, previous []float64
}

// step adds one Lanczos vector and reports whether the approximation is good enough.
func (l *lanczos) step(ctx context.Context, n int, apply Product) (e LeastEigenvalue, ended bool, err error) {
	if n <= orthogonalRows {
		l.basis = append(l.basis, l.v)
	}
	product, err := apply(ctx, l.v)
	if err != nil {
		return LeastEigenvalue{}, false, err
	}
	w := append([]float64(nil), product...)
	if last := len(l.beta) - 1; last >= 0 {
		subtractMultiple(w, l.previous, l.beta[last])
	}
	l.alpha = append(l.alpha, dot(l.v, w))
	subtractMultiple(w, l.v, l.alpha[len(l.alpha)-1])
	for range 2 { // twice is enough
		for _, u := range l.basis {
			subtractMultiple(w, u, dot(u, w))
		}
	}
	norm := math.Sqrt(dot(w, w))
	least, largest, lastComponent := extremes(l.alpha, l.beta)
	e = LeastEigenvalue{Value: least, Residual: float64(norm * math.Abs(lastComponent)), Steps: len(l.alpha)}
	scale := max(math.Abs(least), math.Abs(largest))
	switch {
	case norm <= breakdownRelative*scale, len(l.basis) == n: // an invariant subspace
		e.Residual = min(e.Residual, float64(breakdownRelative*scale))
		return e, true, nil
	case len(l.alpha) < minSteps:
	case e.Residual <= relativeResidual*math.Abs(least), e.Residual <= negligibleSpread*scale, len(l.alpha) == maxSteps:
		return e, true, nil
	}
	for i := range w {
		w[i] /= norm
	}
	l.beta = append(l.beta, norm)
	l.v, l.previous = w, l.v
	return e, false, nil
}

// offer makes the state between two steps available to the next snapshot.
func (l *lanczos) offer(piece *snapshot.Piece) {
	piece.Keep(8*len(l.v)*(2+len(l.basis)), func(w *snapshot.Writer) {
		w.Floats(l.alpha)
		w.Floats(l.beta)
		w.Columns(l.basis)
		w.Floats(l.v)
		w.Floats(l.previous)
	})
}

// restore loads the state from the snapshot of an earlier process, if there is one.
func (l *lanczos) restore(r *snapshot.Reader, n int) {
	if r == nil {
		return
	}
	saved := &lanczos{alpha: r.Floats(), beta: r.Floats(), basis: r.Columns(n), v: r.Floats(), previous: r.Floats()}
	r.Check(len(saved.v) == n && len(saved.previous) == n && len(saved.alpha) == len(saved.beta) &&
		len(saved.alpha) < maxSteps)
	if n <= orthogonalRows {
		r.Check(len(saved.basis) == len(saved.alpha))
	} else {
		r.Check(len(saved.basis) == 0)
	}
	if r.End() == nil {
		*l = *saved
	}
}

func randomUnit(n int, rng interface{ Float64() float64 }) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.Float64() - 0.5
	}
	if normalize(v) == 0 {
		v[0] = 1
	}
	return v
}

// dot returns x'y: the plainDot of each tile, added in tile order.
func dot(x, y []float64) float64 {
	total := 0.0
	height := partition.TileRows(len(x))
	for len(x) > 0 {
		rows := min(height, len(x))
		total += plainDot(x[:rows], y)
		x, y = x[rows:], y[rows:]
	}
	return total
}
