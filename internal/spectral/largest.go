package spectral

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/fault"
)

// Largest finds the count algebraically largest eigenvalues of a symmetric operator with their
// vectors, repeated ones as often as they occur. The tolerance of a residual is relative to the
// largest magnitude of an eigenvalue that shows. Memory is about 2 Basis + 3 count columns.
func Largest(ctx context.Context, op Operator, count int, rng *rand.Rand, options Options) (Eigen, error) {
	n := op.Rows()
	if count < 1 || count > n {
		return Eigen{}, fault.Invalid("EIGENPAIR_COUNT", "%d eigenvectors of a matrix of %d rows were asked for: ask for 1 to %d", count, n, n)
	}
	return largest(ctx, op, nil, count, rng, options)
}

// largest finds them on the complement of some orthonormal eigenvectors.
func largest(ctx context.Context, op Operator, outside [][]float64, count int, rng *rand.Rand, options Options) (Eigen, error) {
	scale := 0.0
	p := &pencil{rows: op.Rows(), outside: outside, standard: true}
	p.products = func(ctx context.Context, w *Work, x [][]float64) (ax, _ [][]float64, err error) {
		ax, err = w.multiply(ctx, op, x)
		return ax, nil, err
	}
	p.assess = func(value, residual float64) float64 {
		scale = max(scale, math.Abs(value))
		if scale == 0 {
			return residual
		}
		return residual / scale
	}
	s := newSearch(p, count, options, rng)
	if err := s.run(ctx, s.started(nil)); err != nil {
		return Eigen{}, err
	}
	result := Eigen{Values: s.values[:count], Vectors: s.vectors(), Work: s.Work, Converged: s.converged == count}
	for j, v := range result.Vectors {
		orient(v)
		result.Residuals = append(result.Residuals, length(s.left[j]))
	}
	return result, nil
}
