package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Executor runs one operation over every row, wherever the rows live. It has one labeling and
// keeps the row sums S_ic for it. An operation either succeeds over all rows or returns an error
// that ends the run; losing a worker on the way is the executor's own affair.
type Executor interface {
	// Degrees are the row sums of the base matrix.
	Degrees(ctx context.Context) ([]float64, error)
	// Arm sets the weights and the sparse part of M; it forgets the labels.
	Arm(ctx context.Context, armament kernel.Armament) error
	// Diagonal is M_ii.
	Diagonal(ctx context.Context) ([]float64, error)
	// ColumnSum is the sum of M_ij over the given columns, for every row.
	ColumnSum(ctx context.Context, columns []int32) ([]float64, error)
	// Load sets all labels (-1: none) and returns the exact self-affinities Q_c, in grid units.
	Load(ctx context.Context, labels []int32) ([]kernel.Int128, error)
	// Update moves points from cluster to cluster and returns the exact Q_c.
	Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error)
	// Assign finds the points that are nearer to another cluster, in row order.
	Assign(ctx context.Context, stats kernel.Stats) ([]kernel.Move, error)
	// Farthest finds the point farthest from its cluster, among clusters of at least two points.
	Farthest(ctx context.Context, stats kernel.Stats) (kernel.Candidate, error)
	// Multiply is M x, each row summed in column order.
	Multiply(ctx context.Context, x []float64) ([]float64, error)
}
