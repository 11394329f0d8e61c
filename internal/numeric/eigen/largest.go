package eigen

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Largest finds the count algebraically largest eigenvalues of a symmetric operator and their vectors, repeated
// eigenvalues as often as they occur. The tolerance of residuals is relative to the largest magnitude of an eigenvalue
// found, or to Options.Scale if that is larger. SearchColumns returns the memory that it needs. If the search is slow
// on a small matrix, Largest solves the problem from all entries instead. The context's snapshot includes the search.
func Largest(ctx context.Context, op Operator, count int, source *rand.PCG, options Options) (Eigenpairs, error) {
	n := op.Rows()
	if count < 1 || count > n {
		return Eigenpairs{}, fmt.Errorf("%w: %d of a matrix of %d rows", errCount, count, n)
	}
	options = options.withDefaults()
	if n > denseRows || options.MaxProducts < 2*n {
		return largest(ctx, op, nil, count, source, options)
	}
	// A search that has multiplied as many columns as a small matrix has could have computed all its entries.
	most := options.MaxProducts
	options.MaxProducts = n
	found, err := largest(ctx, op, nil, count, source, options)
	if err != nil || found.Converged {
		return found, err
	}
	options.MaxProducts = most
	return largestFromEntries(ctx, op, count, options, found.Work)
}

// largestFromEntries computes the eigenpairs from all entries of the matrix.
func largestFromEntries(ctx context.Context, op Operator, count int, options Options, work Work) (Eigenpairs, error) {
	rows, err := work.entries(ctx, op)
	if err != nil {
		return Eigenpairs{}, err
	}
	values, found, err := LeadingEigenpairs(ctx, symmetricOf(rows), func([]float64) int { return count })
	if err != nil {
		return Eigenpairs{}, err
	}
	vectors := columnsOf(found, 0, count)
	result := Eigenpairs{Values: values[:count], Vectors: vectors, Converged: true}
	scale := max(math.Abs(values[0]), math.Abs(values[len(values)-1]), options.Scale)
	worst := 0.0
	for j, v := range vectors {
		rest := make([]float64, len(rows))
		for i, row := range rows {
			rest[i] = plainDot(row, v)
		}
		subtractMultiple(rest, v, values[j])
		residual := length(rest)
		result.Residuals = append(result.Residuals, residual)
		if residual > float64(options.Tolerance*scale) {
			result.Converged = false
		}
		worst = max(worst, residual)
	}
	result.Work = work
	reported := Progress{Iteration: 1, Work: work, Tolerance: options.Tolerance, Wanted: count}
	if scale > 0 {
		reported.Residual = worst / scale
	}
	if result.Converged {
		reported.Converged = count
	}
	options.Observe(reported)
	return result, nil
}

// largest searches in the orthogonal complement of outside, which must be orthonormal eigenvectors.
func largest(ctx context.Context, op Operator, outside [][]float64, count int, source *rand.PCG,
	options Options) (Eigenpairs, error) {
	p := &pencil{rows: op.Rows(), excluded: outside, standard: true}
	p.products = func(ctx context.Context, w *Work, x [][]float64) (ax, _ [][]float64, err error) {
		ax, err = w.multiply(ctx, op, x)
		return ax, nil, err
	}
	s := newSearch(p, count, options, source)
	s.scale = options.Scale
	p.assess = func(value, residual float64) float64 {
		s.scale = max(s.scale, math.Abs(value))
		if s.scale == 0 {
			return residual
		}
		return residual / s.scale
	}
	r := newRecorder(snapshot.Open(ctx, "search"), source, s.options.Observe)
	if found, known := r.found(p.rows, count, count); known {
		return found, nil
	}
	err := r.run(ctx, s, func() error {
		s.randomStart(cloneColumns(options.Start))
		return nil
	})
	if err != nil {
		return Eigenpairs{}, err
	}
	result := Eigenpairs{Values: s.values[:count], Vectors: s.vectors(), Work: s.work, Converged: s.converged == count}
	for j, v := range result.Vectors {
		Orient(v)
		result.Residuals = append(result.Residuals, length(s.residuals[j]))
	}
	r.finish(p.rows, result)
	return result, nil
}
