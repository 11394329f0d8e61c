package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Executor runs one operation over every row, wherever the rows live. It keeps as many labelings, one for
// each lane, as its operands say, and for each the row sums S_ic. Clusters are numbered through all lanes:
// those of lane l begin at l*K. An operation either succeeds over all rows or returns an error that ends
// the run; an executor deals with lost workers itself.
type Executor interface {
	// Degrees are the row sums of the base matrix.
	Degrees(ctx context.Context) ([]float64, error)
	// Maxima are the largest entries of the base matrix's rows, at least 0.
	Maxima(ctx context.Context) ([]float64, error)
	// SetOperands sets the operands: the weights, the sparse part of M, and the lanes. Labels are forgotten.
	SetOperands(ctx context.Context, operands kernel.Operands) error
	// Diagonal is M_ii.
	Diagonal(ctx context.Context) ([]float64, error)
	// ColumnSums are, for each list of columns, the sums of M_ij over the list, for every row.
	ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error)
	// Load sets all labels (-1: none), lane after lane, and returns the exact self-affinities Q_c, in units of the
	// grid.
	Load(ctx context.Context, labels []int32) ([]kernel.Int128, error)
	// Update moves points from cluster to cluster and returns the exact Q_c.
	Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error)
	// Assign finds the points that are nearer to another cluster than to their own, in the lanes that stats are given
	// for; those of a lane are in row order.
	Assign(ctx context.Context, stats []kernel.ClusterStats) ([]kernel.Move, error)
	// Farthest finds, for each of the stats, the point farthest from its cluster, among clusters of at
	// least two points.
	Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]kernel.Candidate, error)
	// Gains are, for each of the stats and for every row, by how much J falls at most when that row alone moves.
	Gains(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error)
	// Fits are, for each of the stats, two lists of a value for every row: its distance to its own cluster, and to the
	// nearest other one that is not empty; infinite where there is none.
	Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error)
	// Blocks are, for each block and for each of its points i, the sums S_ic over the clusters of its lane, and then M_ij
	// for the block's points j.
	Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error)
	// Multiply is M x for each of several x; rows are summed in column order.
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}
