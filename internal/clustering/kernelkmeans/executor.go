package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Executor runs one operation over every row of the matrix, wherever the rows live. It keeps one labeling for each lane
// of its operands, with the row sums S_ic. Clusters are numbered through all lanes: those of lane l begin at l*K. An
// operation either succeeds over all rows or returns an error that ends the run; executors handle lost workers
// themselves.
type Executor interface {
	// Degrees returns the row sums of the base matrix. It fails with NEGATIVE_AFFINITY if an entry is negative.
	Degrees(ctx context.Context) ([]float64, error)
	// Maxima returns the largest entry of each row of the base matrix, at least 0.
	Maxima(ctx context.Context) ([]float64, error)
	// SetOperands sets the weights, the sparse part of M, and the lanes. It drops all labels.
	SetOperands(ctx context.Context, operands kernel.Operands) error
	// Diagonal returns M_ii.
	Diagonal(ctx context.Context) ([]float64, error)
	// ColumnSums returns, for each list of columns, the sum of M_ij over the list for every row.
	ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error)
	// Load sets all labels (-1 means none), lane after lane, and returns the exact self-affinities Q_c in grid units.
	Load(ctx context.Context, labels []int32) ([]kernel.Int128, error)
	// Update moves points between clusters, each at most once, and returns the exact Q_c. Load must have been called.
	Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error)
	// Assign returns the moves of points that are nearer to another cluster than to their own, in the lanes of the
	// stats. Those of a lane are in row order.
	Assign(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Move, error)
	// Farthest returns, for each of the stats, the point farthest from its cluster, among clusters of at least two
	// points.
	Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Candidate, error)
	// Gains returns, for each of the stats and every row, the most that J falls when only that row moves. Only the
	// largest values are needed, as many as the caller says, and among equal ones those of the lower rows: it may
	// return -Inf for all other rows.
	Gains(ctx context.Context, stats []kernel.ClusterStats, needed int) ([][]float64, error)
	// Fits returns two lists for each of the stats, with one value for every row: its distance to its own cluster, and
	// to the nearest other non-empty one, +Inf if there is none.
	Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error)
	// Blocks returns, for each block and each of its points i, the sums S_ic over the clusters of its lane, followed by
	// M_ij for the block's points j.
	Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error)
	// Multiply returns M x for each of several x. Rows are summed in column order.
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}
