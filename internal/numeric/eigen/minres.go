package eigen

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/parallel"
)

// columnProducts computes M_j x_j for every column x_j.
type columnProducts func(ctx context.Context, x [][]float64) ([][]float64, error)

// minres takes some steps of MINRES (Paige and Saunders 1975) toward M_j x_j = b_j with symmetric M_j, for all
// columns side by side, and replaces b_j by x_j. A column that is solved no longer changes.
func minres(ctx context.Context, m columnProducts, b [][]float64, steps int) error {
	systems := make([]minresSystem, len(b))
	v := make([][]float64, len(b))
	for j := range b {
		systems[j].start(b[j])
		v[j] = systems[j].v
	}
	for range steps {
		products, err := m(ctx, v)
		if err != nil {
			return err
		}
		err = parallel.Ranges(ctx, len(b), 1, func(j, _ int) {
			systems[j].step(products[j])
			v[j] = systems[j].v
		})
		if err != nil {
			return err
		}
	}
	for j := range b {
		copy(b[j], systems[j].x)
	}
	return nil
}

// minresSystem is the recurrence for one column: Lanczos vectors, directions, and the last two rotations.
type minresSystem struct {
	x                 []float64
	v, previous       []float64 // Lanczos vectors, of this step and the one before
	w, wBefore        []float64 // directions of the steps
	beta, remaining   float64   // the last off-diagonal entry; the current residual, signed
	cosine, cosBefore float64
	sine, sinBefore   float64
	solved            bool
}

func (s *minresSystem) start(b []float64) {
	n := len(b)
	s.x = make([]float64, n)
	s.v = append([]float64(nil), b...)
	s.previous = make([]float64, n)
	s.w = make([]float64, n)
	s.wBefore = make([]float64, n)
	s.cosine, s.cosBefore = 1, 1
	s.remaining = normalize(s.v)
	s.solved = s.remaining == 0
}

// step takes the product of the matrix with the last Lanczos vector: it extends the basis by one vector, updates the
// QR factorization of the tridiagonal matrix by a rotation, and the solution along with it.
func (s *minresSystem) step(product []float64) {
	if s.solved {
		return
	}
	next := s.previous
	for i, old := range next {
		next[i] = product[i] - float64(s.beta*old)
	}
	alpha := dot(s.v, next)
	subtractMultiple(next, s.v, alpha)
	beta := math.Sqrt(dot(next, next))

	delta := float64(s.cosine*alpha) - float64(float64(s.cosBefore*s.sine)*s.beta)
	first := math.Sqrt(float64(delta*delta) + float64(beta*beta))
	second := float64(s.sine*alpha) + float64(float64(s.cosBefore*s.cosine)*s.beta)
	third := float64(s.sinBefore * s.beta)
	if first == 0 {
		s.solved = true
		return
	}
	s.cosBefore, s.sinBefore = s.cosine, s.sine
	s.cosine, s.sine = delta/first, beta/first

	direction := s.wBefore
	for i, old := range direction {
		direction[i] = (s.v[i] - float64(third*old) - float64(second*s.w[i])) / first
	}
	s.wBefore, s.w = s.w, direction
	subtractMultiple(s.x, direction, -float64(s.cosine*s.remaining))
	s.remaining = -float64(s.sine * s.remaining)

	if beta <= 1e-14*math.Abs(alpha) {
		s.solved = true
		return
	}
	for i := range next {
		next[i] /= beta
	}
	s.previous, s.v, s.beta = s.v, next, beta
}
