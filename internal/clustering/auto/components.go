package auto

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/partition"
)

// centered is the operator C K C with C = I - 1 1'/n, the kernel matrix of points minus their mean.
type centered struct {
	matrix embedding.Multiplier
	n      int
}

// Rows implements eigen.Operator.
func (c centered) Rows() int { return c.n }

// Multiply implements eigen.Operator.
func (c centered) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	shifted := make([][]float64, len(columns))
	for v, column := range columns {
		shifted[v] = lessMean(column)
	}
	products, err := c.matrix.Multiply(ctx, shifted)
	if err != nil {
		return nil, err
	}
	for v, product := range products {
		shifted[v] = lessMean(product)
	}
	return shifted, nil
}

func lessMean(values []float64) []float64 {
	mean := partition.SumByTile(len(values), func(i int) float64 { return values[i] }) / float64(len(values))
	less := make([]float64, len(values))
	for i, v := range values {
		less[i] = v - mean
	}
	return less
}

// principalComponents returns coordinates by the k leading eigenvectors of the centered kernel matrix, scaled by the
// roots of their eigenvalues. Negative eigenvalues count as 0.
func (r *run) principalComponents(ctx context.Context, matrix embedding.Multiplier) (*coordinates, error) {
	count := min(r.spec.K, r.n)
	pairs, err := eigen.Largest(ctx, centered{matrix, r.n}, count, r.spec.Random(clustering.StreamEigen), r.reporter.SolverOptions(eigenTolerance))
	if err != nil {
		return nil, err
	}
	for j, vector := range pairs.Vectors {
		length := math.Sqrt(max(0, pairs.Values[j]))
		for i := range vector {
			vector[i] *= length
		}
	}
	e := &coordinates{columns: count, values: embedding.New(pairs.Vectors, false).Values, kept: make([]int32, r.n)}
	for i := range e.kept {
		e.kept[i] = int32(i)
	}
	return e, nil
}
