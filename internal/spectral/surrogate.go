package spectral

import (
	"context"
	"math/rand/v2"
)

// surrogate is a reduction with I - U Theta U' in the place of Lbar, where U are the lowest vectors of
// Lbar. A product with it needs no product of the affinity, which is what takes the time: affinities
// of points are close to such a matrix, and those of a graph beyond its clusters near enough.
type surrogate struct {
	*reduction
	lowest Eigen // of Lbar, as the largest of the affinity
}

// products is Lbar x, roughly, and B_S x.
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
	shares := gram(n, s.lowest.Vectors, x)
	for i, row := range shares {
		for j := range row {
			row[j] *= -s.lowest.Values[i]
		}
	}
	combine(n, lx, s.lowest.Vectors, shares)
	return lx, bx, nil
}

// pencil is the surrogate's own problem.
func (s *surrogate) pencil() *pencil {
	p := s.reduction.pencil()
	p.products = func(ctx context.Context, _ *Work, x [][]float64) (ax, bx [][]float64, err error) {
		bx, ax, err = s.products(ctx, x)
		return ax, bx, err
	}
	p.correct = s.correct
	return p
}

// solved are vectors for a block of pairs that are nearly those of the surrogate, to start from.
func (s *surrogate) startVectors(ctx context.Context, count int, rng *rand.Rand, observe func(Progress)) ([][]float64, error) {
	const (
		nearly   = 1e-2
		products = 4000
	)
	search := newSearch(s.pencil(), count, Options{Tolerance: nearly, MaxProducts: products, Observe: observe}, rng)
	believed, err := s.beliefStart(ctx, search.block, rng)
	if err != nil {
		return nil, err
	}
	if err := search.run(ctx, search.randomStart(append(believed, cloneColumns(s.lowest.Vectors)...))); err != nil {
		return nil, err
	}
	return search.x, nil
}

// believed are columns along the beliefs. Where few points have any, or most vectors are infeasible, random
// columns alone do not see the feasible ones.
func (s *surrogate) beliefStart(ctx context.Context, count int, rng *rand.Rand) ([][]float64, error) {
	x := make([][]float64, count)
	for j := range x {
		x[j] = randomUnit(s.Affinity.Rows(), rng)
	}
	for range 4 {
		images, err := new(Work).multiply(ctx, s.Beliefs, x)
		if err != nil {
			return nil, err
		}
		x = orthonormalize(s.Affinity.Rows(), cloneColumns(images))
		if len(x) == 0 {
			break
		}
	}
	return x, nil
}

// correct makes corrections t of residuals r by the equation of Jacobi and Davidson (Sleijpen and van der
// Vorst 1996), solved roughly and with the surrogate:
//
//	P (B_S - mu Lbar) P t = r,    P projects away the approximate vectors x
func (s *surrogate) correct(ctx context.Context, residuals [][]float64, mu []float64, x [][]float64) error {
	const steps = 8
	n := s.Affinity.Rows()
	x = orthonormalize(n, cloneColumns(x))
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
