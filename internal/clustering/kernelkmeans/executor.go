package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Executor runs one operation over every row, wherever the rows live. It has the lanes, labelings of
// their own, that it was armed with, and keeps the row sums S_ic for each: clusters are numbered
// through all lanes, those of lane l from l*K on. An operation either succeeds over all rows or
// returns an error that ends the run; losing a worker on the way is the executor's own affair.
type Executor interface {
	// Degrees are the row sums of the base matrix.
	Degrees(ctx context.Context) ([]float64, error)
	// Maxima are the largest entries of the base matrix's rows, at least 0.
	Maxima(ctx context.Context) ([]float64, error)
	// Arm sets the weights and the sparse part of M; it forgets the labels.
	Arm(ctx context.Context, armament kernel.Armament) error
	// Diagonal is M_ii.
	Diagonal(ctx context.Context) ([]float64, error)
	// ColumnSums are, for each list of columns, the sums of M_ij over the list, for every row.
	ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error)
	// Load sets all labels (-1: none), lane after lane, and returns the exact self-affinities Q_c, in
	// grid units.
	Load(ctx context.Context, labels []int32) ([]kernel.Int128, error)
	// Update moves points from cluster to cluster and returns the exact Q_c.
	Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error)
	// Assign finds the points that are nearer to another cluster in the lanes that stats are given for;
	// those of a lane are in row order.
	Assign(ctx context.Context, stats []kernel.Stats) ([]kernel.Move, error)
	// Farthest finds, for each of the stats, the point farthest from its cluster, among clusters of at
	// least two points.
	Farthest(ctx context.Context, stats []kernel.Stats) ([]kernel.Candidate, error)
	// Multiply is M x for each of several x, each row summed in column order.
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}
