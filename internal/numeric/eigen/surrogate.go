package eigen

import (
	"context"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// surrogate is a reduction with I - U Theta U' in place of Lbar, where U are the lowest eigenvectors of Lbar and
// Theta their eigenvalues in the affinity. Its products do not need products with the affinity, which take most of
// the time. Affinities of points are close to such a matrix, and those of graphs are close enough.
type surrogate struct {
	*reduction
	lowest Eigenpairs // of Lbar, given as the largest of the affinity
}

// products computes Lbar x approximately and B_S x exactly.
func (s *surrogate) products(ctx context.Context, x [][]float64) (lx, bx [][]float64, err error) {
	bx, err = new(Work).multiply(ctx, s.Beliefs, x)
	if err != nil {
		return nil, nil, err
	}
	bx = cloneColumns(bx)
	for j := range x {
		subtractMultiple(bx[j], x[j], s.Ratio)
	}
	n := len(x[0])
	combine(n, bx, s.images, s.shares(x))
	lx = cloneColumns(x)
	shares := Gram(n, s.lowest.Vectors, x)
	for i, value := range s.lowest.Values {
		row := shares.RawRowView(i)
		for j := range row {
			row[j] *= -value
		}
	}
	combine(n, lx, s.lowest.Vectors, shares)
	return lx, bx, nil
}

// pencil returns the problem with the surrogate in place of Lbar.
func (s *surrogate) pencil() *pencil {
	p := s.reduction.pencil()
	p.products = func(ctx context.Context, _ *Work, x [][]float64) (ax, bx [][]float64, err error) {
		bx, ax, err = s.products(ctx, x)
		return ax, bx, err
	}
	p.correct = s.correct
	return p
}

// startVectors solves the surrogate problem roughly, for vectors to start the main search from.
func (s *surrogate) startVectors(ctx context.Context, count int, source *rand.PCG,
	observe func(Progress)) ([][]float64, error) {
	const (
		nearly   = 1e-2
		products = 4000
	)
	search := newSearch(s.pencil(), count, Options{Tolerance: nearly, MaxProducts: products, Observe: observe},
		source)
	r := newRecorder(snapshot.Open(ctx, "start"), source, observe)
	rows := s.Affinity.Rows()
	if found, known := r.found(rows, search.block, 0); known {
		return found.Vectors, nil
	}
	err := r.run(ctx, search, func() error {
		believed, err := s.beliefStart(ctx, search.block, source)
		search.randomStart(append(believed, cloneColumns(s.lowest.Vectors)...))
		return err
	})
	if err != nil {
		return nil, err
	}
	r.finish(rows, Eigenpairs{Vectors: search.x})
	return search.x, nil
}

// beliefStart finds columns in the dominant directions of the beliefs. If few points have beliefs, or most vectors
// are infeasible, random columns alone would miss the feasible ones.
func (s *surrogate) beliefStart(ctx context.Context, count int, source *rand.PCG) ([][]float64, error) {
	x := make([][]float64, count)
	for j := range x {
		x[j] = randomUnit(s.Affinity.Rows(), source)
	}
	for range 4 {
		images, err := new(Work).multiply(ctx, s.Beliefs, x)
		if err != nil {
			return nil, err
		}
		x = Orthonormalize(s.Affinity.Rows(), cloneColumns(images))
		if len(x) == 0 {
			break
		}
	}
	return x, nil
}

// correct turns residuals r into corrections t by the Jacobi-Davidson equation (Sleijpen and van der Vorst 1996),
// solved roughly and with the surrogate:
//
//	P (B_S - mu Lbar) P t = r,    P projects away the approximate vectors x
func (s *surrogate) correct(ctx context.Context, residuals [][]float64, mu []float64, x [][]float64) error {
	const steps = 8
	n := s.Affinity.Rows()
	x = Orthonormalize(n, cloneColumns(x))
	within := func(y [][]float64) {
		project(n, y, s.excluded)
		project(n, y, x)
	}
	within(residuals)
	return minres(ctx, func(ctx context.Context, t [][]float64) ([][]float64, error) {
		lt, bt, err := s.products(ctx, t)
		if err != nil {
			return nil, err
		}
		for j := range bt {
			subtractMultiple(bt[j], lt[j], mu[j])
		}
		within(bt)
		return bt, nil
	}, residuals, steps)
}
