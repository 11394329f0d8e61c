package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// rowSums are the sums S_ic of one tile's rows, without shift. A dense matrix keeps all k of every row,
// cluster after cluster; a graph keeps only those of adjacent clusters.
type rowSums interface {
	// sweep follows a plan: it recomputes all sums of the tile, or changes them by the points that moved. Where
	// sums or labels changed, it updates the tile's own sums.
	sweep(t *tile, p *plan, w *workspace) error
	// of returns S_ic of the tile's row r.
	of(r int, c int32) float64
	// assign appends the moves of rows that are nearer to another cluster, in row order.
	assign(moves []labeling.Move, w *workspace) []labeling.Move
	// joining writes, for each row, the most that it adds to the association by joining a cluster that is not its own.
	joining(dst []float64, terms *gainTerms, w *workspace)
	// otherParts writes, for each row, the least distance part of the clusters that are not its own and not empty.
	otherParts(dst []float64, w *workspace)
	bytes() int64
}

// assignment is what the distances of one tile's rows in one lane need beside the sums. It is part of a
// thread's workspace.
type assignment struct {
	terms             *clusterTerms
	first             int32 // the lane's first cluster
	rows              partition.Range
	labels            []int32 // of the tile's rows in the lane, like the slices below
	weights, diagonal []float64
}

// own returns the cluster of row r within its lane; negative if it has none.
func (a *assignment) own(r int) int32 { return a.labels[r] - a.first }

// part is distancePart of row r and cluster c. The shift, which the sums lack, is added for its own cluster.
func (a *assignment) part(r int, c int32, sum float64) float64 {
	if c == a.own(r) {
		sum = a.terms.shifted(sum, a.weights[r])
	}
	return a.terms.distancePart(c, sum, a.weights[r])
}

// tolerance is how far above the least distance of row r another distance may be and still tie with it.
func (a *assignment) tolerance(r int) float64 {
	weight := a.weights[r]
	return tieTolerance * (math.Abs(a.terms.shifted(a.diagonal[r], weight))/float64(weight*weight) + a.terms.maxSquare)
}

func (a *assignment) move(r int, to int32) labeling.Move {
	return labeling.Move{Point: int32(a.rows.From + r), From: a.labels[r], To: a.first + to}
}
