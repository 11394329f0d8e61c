package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// rowSums are the sums S_ic of one tile's rows at some labels, without shift. A dense matrix keeps
// all k of every row, one cluster after the other; a graph keeps only those of adjacent clusters.
type rowSums interface {
	// sweep does what a plan says: it makes all sums of its tile anew, or changes them by the points
	// that moved, and loads the tile's own sums where they or the labels changed.
	sweep(t *tile, p *plan, w *workspace) error
	// of is S_ic of the tile's row r.
	of(r int, c int32) float64
	// assign appends the rows that are nearer to another cluster, in row order.
	assign(moves []labeling.Move, w *workspace) []labeling.Move
	bytes() int64
}

// assignment is what the distances of one tile's rows are made of, beside their sums. It is part of
// the workspace that the tile is assigned with.
type assignment struct {
	terms             *clusterTerms
	first             int32 // the lane's first cluster
	rows              partition.Range
	labels            []int32 // of the tile's rows in the lane, as the slices below
	weights, diagonal []float64
}

// own is the cluster of row r within its lane, below 0 where it has none.
func (a *assignment) own(r int) int32 { return a.labels[r] - a.first }

// part is distancePart of row r, whose sum for its own cluster lacks the shift.
func (a *assignment) part(r int, c int32, sum float64) float64 {
	if c == a.own(r) {
		sum = a.terms.shifted(sum, a.weights[r])
	}
	return a.terms.distancePart(c, sum, a.weights[r])
}

// tolerance is how far above the least distance of row r a distance may be and still tie with it.
func (a *assignment) tolerance(r int) float64 {
	weight := a.weights[r]
	return tieTolerance * (math.Abs(a.terms.shifted(a.diagonal[r], weight))/float64(weight*weight) + a.terms.maxSquare)
}

func (a *assignment) move(r int, to int32) labeling.Move {
	return labeling.Move{Point: int32(a.rows.From + r), From: a.labels[r], To: a.first + to}
}
