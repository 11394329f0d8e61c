package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// A tile has a matrix and the sums of its rows, in one of two representations: dense (dense.go, densesums.go), or of a
// graph (graph.go, graphsums.go).

// tile is a range of rows of the base matrix, with the sums S_ic of these rows at a step.
type tile struct {
	rows   partition.Range
	stride int // number of rows, padded to whole vectors
	base   matrix
	// diagonal is M_ii without shift; nil until loadDiagonal computes it.
	diagonal []float64
	sums     rowSums   // without shift; nil until the first sweep
	own      []float64 // lane after lane, each row's sum over its own cluster; 0 if it has none
	step     uint64
	loaded   bool
	moves    []labeling.Move // scratch: what the last Assign found
}

// at reports whether the tile's sums are those of the given step.
func (t *tile) at(step uint64) bool { return t.loaded && t.step == step }

// matrix is a range of consecutive rows of the base matrix with all n columns. Destinations have one value per row,
// padded to the tile's stride.
type matrix interface {
	// newSums allocates sums in the layout that suits the matrix; a full sweep computes them.
	newSums(a *Operands) rowSums
	// addColumns adds the given columns to dst.
	addColumns(dst []float64, columns []int32) error
	// multiply computes the rows' products with vectors, each row in column order.
	multiply(dst [][]float64, x *vectors) error
	// degrees adds each row's sum to dst; a negative affinity is an error.
	degrees(dst []float64) error
	// maxima raises dst to each row's largest entry.
	maxima(dst []float64) error
	// diagonal writes the entries (i, i) of the tile's rows.
	diagonal(dst []float64) error
	// pick writes the entries at the given rows and columns, both ascending. dst must be zeroed; consecutive rows are
	// width values apart.
	pick(dst []float64, width int, rows, columns []int32) error
	// stored reports whether the entries are kept in memory rather than computed on each use.
	stored() bool
}

// rowSums holds the sums S_ic of one tile's rows, without shift. A dense matrix keeps all k sums of every row, cluster
// after cluster; a graph keeps only those of adjacent clusters.
type rowSums interface {
	// sweep follows a plan: it recomputes all sums of the tile, or updates them by the points that moved. It also
	// updates the tile's own sums where sums or labels changed.
	sweep(t *tile, p *plan, w *workspace) error
	// of returns S_ic of the tile's row r.
	of(r int, c int32) float64
	// assign appends the moves of rows that are nearer to another cluster, in row order.
	assign(moves []labeling.Move, w *workspace) []labeling.Move
	// joining writes, for each row, the largest increase of the association from joining a cluster other than its own.
	joining(dst []float64, terms *gainTerms, w *workspace)
	// otherParts writes, for each row, the smallest distance part of the non-empty clusters other than its own.
	otherParts(dst []float64, w *workspace)
}

// assignment holds what the distances of one tile's rows in one lane need besides the sums. It is part of a goroutine's
// workspace.
type assignment struct {
	terms             *clusterTerms
	first             int32 // the lane's first cluster
	rows              partition.Range
	labels            []int32 // of the tile's rows in the lane, like the slices below
	weights, diagonal []float64
}

// own returns the cluster of row r within its lane; negative if it has none.
func (a *assignment) own(r int) int32 { return a.labels[r] - a.first }

// part returns distancePart of row r and cluster c. For the row's own cluster it adds the shift, which the sums do not
// include.
func (a *assignment) part(r int, c int32, sum float64) float64 {
	if c == a.own(r) {
		sum = a.terms.shifted(sum, a.weights[r])
	}
	return a.terms.distancePart(c, sum, a.weights[r])
}

// tolerance returns how far above the smallest distance of row r another distance may be and still count as a tie.
func (a *assignment) tolerance(r int) float64 {
	weight := a.weights[r]
	return float64(tieTolerance * (math.Abs(a.terms.shifted(a.diagonal[r], weight))/float64(weight*weight) +
		a.terms.maxSquare))
}

func (a *assignment) move(r int, to int32) labeling.Move {
	return labeling.Move{Point: int32(a.rows.From + r), From: a.labels[r], To: a.first + to}
}
