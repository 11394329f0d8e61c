package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Matrix is the matrix M of a problem, wherever its rows live. Its operations do not depend on labels.
type Matrix interface {
	// SetOperands sets the weights, the sparse part of M, and the lanes. It drops all labels.
	SetOperands(ctx context.Context, operands kernel.Operands) error
	// Degrees returns the row sums of the base matrix. It fails with NEGATIVE_AFFINITY if an entry is negative.
	Degrees(ctx context.Context) ([]float64, error)
	// Maxima returns the largest entry of each row of the base matrix, at least 0.
	Maxima(ctx context.Context) ([]float64, error)
	// Diagonal returns M_ii.
	Diagonal(ctx context.Context) ([]float64, error)
	// ColumnSums returns, for each list of columns, the sum of M_ij over the list for every row.
	ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error)
	// Multiply returns M x for each of several x. Rows are summed in column order.
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}

// Measurement is what Executor.Measure returns for a query.
type Measurement int

// The measurements.
const (
	// Gains is, for every row, the most that J falls when only that row moves. Only the query's Most largest values are
	// needed, and among equal ones those of the lower rows: all others may be -Inf.
	Gains Measurement = iota
	// Fits is two lists: the distance of every row to its own cluster, and to the nearest other non-empty one, +Inf if
	// there is none.
	Fits
	// Blocks is, for each of the query's points i, the sums S_ic over the clusters of the lane, followed by M_ij for
	// the query's points j.
	Blocks
)

// Query is a question about one lane.
type Query struct {
	kernel.ClusterStats         // of the lane; Blocks needs only its number
	Points              []int32 // for Blocks: ascending
	Most                int     // for Gains: how many values are needed
}

// Executor runs one operation over every row of the matrix, wherever the rows live. It keeps one labeling for each lane
// of its operands, with the row sums S_ic. Clusters are numbered through all lanes: those of lane l begin at l*K. An
// operation either succeeds over all rows or returns an error that ends the run; executors handle lost workers
// themselves.
type Executor interface {
	// Matrix returns the matrix. Its SetOperands must have been called before any of the operations below.
	Matrix() Matrix
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
	// Measure returns a list of values for each query, or two if the measurement says so.
	Measure(ctx context.Context, what Measurement, queries Queries) ([][]float64, error)
}

// Queries are several questions.
type Queries []Query

// Stats returns the cluster statistics of all queries.
func (q Queries) Stats() []kernel.ClusterStats {
	stats := make([]kernel.ClusterStats, len(q))
	for i := range q {
		stats[i] = q[i].ClusterStats
	}
	return stats
}

// Blocks returns the points of all queries with their lanes.
func (q Queries) Blocks() []kernel.Block {
	blocks := make([]kernel.Block, len(q))
	for i := range q {
		blocks[i] = kernel.Block{Lane: q[i].Lane, Points: q[i].Points}
	}
	return blocks
}
