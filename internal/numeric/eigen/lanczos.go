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
//
// The context's snapshot includes the search.
func Least(ctx context.Context, n int, apply Product, source *rand.PCG) (LeastEigenvalue, error) {
	l := &lanczos{rows: n, apply: apply}
	r := newRecorder(snapshot.Open(ctx, "least"), source, func(Progress) {})
	err := r.run(ctx, l, func() error {
		l.v = randomUnit(n, source)
		l.previous = make([]float64, n)
		return nil
	})
	if err != nil {
		return LeastEigenvalue{}, err
	}
	return l.least, nil
}

// lanczos is the state of one call of Least. It is an iteration, which a recorder drives: a step multiplies the last
// Lanczos vector, and advance makes the next one.
type lanczos struct {
	rows  int
	apply Product

	alpha, beta []float64
	basis       [][]float64
	v, previous []float64
	next        []float64 // the next vector before it is scaled to length 1, and its length
	norm        float64
	least       LeastEigenvalue
}

// step finds the least eigenvalue of the matrix in the span of the vectors so far, and whether it is good enough.
func (l *lanczos) step(ctx context.Context) (p Progress, ended bool, err error) {
	if l.rows <= orthogonalRows {
		l.basis = append(l.basis, l.v)
	}
	product, err := l.apply(ctx, l.v)
	if err != nil {
		return Progress{}, false, err
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
	l.next = w
	l.norm = math.Sqrt(dot(w, w))
	least, largest, lastComponent := extremes(l.alpha, l.beta)
	steps := len(l.alpha)
	l.least = LeastEigenvalue{Value: least, Residual: float64(l.norm * math.Abs(lastComponent)), Steps: steps}
	scale := max(math.Abs(least), math.Abs(largest))
	isInvariant := l.norm <= breakdownRelative*scale || len(l.basis) == l.rows
	if isInvariant {
		l.least.Residual = min(l.least.Residual, float64(breakdownRelative*scale))
	}
	residual := l.least.Residual
	isAccurate := residual <= relativeResidual*math.Abs(least) || residual <= negligibleSpread*scale
	ended = isInvariant || steps >= minSteps && isAccurate || steps == maxSteps
	p = Progress{Iteration: steps, Work: Work{Rounds: steps, Products: steps}, Residual: residual, Wanted: 1}
	return p, ended, nil
}

// advance makes the next Lanczos vector.
func (l *lanczos) advance(context.Context) error {
	for i := range l.next {
		l.next[i] /= l.norm
	}
	l.beta = append(l.beta, l.norm)
	l.previous = l.v
	l.v = l.next
	return nil
}

func (l *lanczos) size() int { return l.rows * (2 + len(l.basis)) }

func (l *lanczos) save(w *snapshot.Writer) {
	w.Floats(l.alpha)
	w.Floats(l.beta)
	w.Columns(l.basis)
	w.Floats(l.v)
	w.Floats(l.previous)
}

func (l *lanczos) load(r *snapshot.Reader) bool {
	alpha := r.Floats()
	beta := r.Floats()
	basis := r.Columns(l.rows)
	v := r.Floats()
	previous := r.Floats()
	r.Check(len(v) == l.rows && len(previous) == l.rows && len(alpha) == len(beta) && len(alpha) < maxSteps)
	if l.rows <= orthogonalRows {
		r.Check(len(basis) == len(alpha))
	} else {
		r.Check(len(basis) == 0)
	}
	if r.End() != nil {
		return false
	}
	l.alpha, l.beta = alpha, beta
	l.basis = basis
	l.v, l.previous = v, previous
	return true
}

// randomUnit returns a random vector of length 1.
func randomUnit(n int, source *rand.PCG) []float64 {
	rng := rand.New(source)
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.Float64() - 0.5 // Float64 scales by a power of two: exact, fused or not
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
