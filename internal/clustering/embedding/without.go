package embedding

import (
	"context"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/partition"
)

// Without is an operator whose eigenvector of eigenvalue 1 is known: M - 2 v v' has it at the other end of the spectrum,
// so that a search for the leading eigenvectors finds all others.
type Without struct {
	eigen.Operator
	Vector []float64 // v, of length 1
}

// Multiply implements spectral.Operator.
func (w Without) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := w.Operator.Multiply(ctx, columns)
	for at, y := range products {
		x := columns[at]
		twice := 2 * partition.SumByTile(len(x), func(i int) float64 { return float64(w.Vector[i] * x[i]) })
		for i, v := range w.Vector {
			y[i] -= float64(twice * v)
		}
	}
	return products, err
}
