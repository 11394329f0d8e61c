package kernelkmeans

import (
	"context"
	"slices"

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

// Executor runs one operation over every row of the matrix, wherever the rows live. It keeps one labeling for each lane
// of its operands, with the row sums S_ic. Clusters are numbered through all lanes: those of lane l begin at l*K. An
// operation either succeeds over all rows or returns an error that ends the run; executors handle lost workers
// themselves.
type Executor interface {
	// Matrix returns the matrix. Its SetOperands must have been called before any of the operations below.
	Matrix() Matrix
	// Measure returns what measures points against the clusters of the labelings.
	Measure() Measurer
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
}

// Measurer measures points against the clusters of an executor's labelings. It changes no labels.
type Measurer interface {
	// Gains returns, for each of the stats and every row, the most that J falls when only that row moves. Only the
	// given number of largest values are needed, and among equal ones those of the lower rows: all others may be -Inf.
	Gains(ctx context.Context, stats []kernel.ClusterStats, needed int) ([][]float64, error)
	// Fits returns, for each of the stats, how well every row fits its cluster.
	Fits(ctx context.Context, stats []kernel.ClusterStats) ([]Fit, error)
	// Blocks returns the sums and entries of the points of each block.
	Blocks(ctx context.Context, blocks []kernel.Block) ([]BlockSums, error)
}

// Fit holds the distances of all rows to the clusters of one lane.
type Fit struct {
	Own  []float64 // to the row's own cluster
	Next []float64 // to the nearest other cluster that is not empty; +Inf if there is none
}

// NewFits returns the fits of several lanes from the lists that kernel.Shard.Fits returns.
func NewFits(lists [][]float64) []Fit {
	fits := make([]Fit, 0, len(lists)/2)
	for pair := range slices.Chunk(lists, 2) {
		fits = append(fits, Fit{Own: pair[0], Next: pair[1]})
	}
	return fits
}

// BlockSums holds, for each point i of a block, the sums S_ic over the clusters of its lane and the entries M_ij for
// all points j of the block.
type BlockSums struct {
	clusters, points int
	values           []float64
}

// NewBlockSums returns the sums of blocks from the lists that kernel.Shard.Blocks returns for k clusters.
func NewBlockSums(k int, blocks []kernel.Block, lists [][]float64) []BlockSums {
	sums := make([]BlockSums, len(lists))
	for i, values := range lists {
		sums[i] = BlockSums{clusters: k, points: len(blocks[i].Points), values: values}
	}
	return sums
}

// Row returns the sums and the entries of the point at a place of the block. They alias b.
func (b BlockSums) Row(at int) (sums, entries []float64) {
	width := b.clusters + b.points
	row := b.values[at*width : (at+1)*width]
	return row[:b.clusters], row[b.clusters:]
}
