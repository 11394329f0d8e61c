// Package kernel is the hot code: kernel functions, tiles of the affinity matrix, and the exact
// sweeps over them.
//
// The matrix is M = base + sparse. The base matrix (kernel values of points, a given kernel
// matrix, a graph) lives in tiles of consecutive rows; the sparse part carries the constraints
// and, for ratio cut, the negative degrees. Every entry is a multiple of one power of two, the
// grid, chosen so that sums along a row are exact in float64. That makes the row sums
//
//	S_ic = sum of M_ij over j in cluster c
//
// independent of the order of summation: a sum that is updated by the points that moved has the same
// bits as one that is computed from scratch, on any worker.
package kernel

import (
	"errors"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// MatrixSpec determines every entry of the base matrix to the last bit. It is the same on every worker, and
// small except for Mean and Scale.
type MatrixSpec struct {
	Function          Function
	Rho, Gamma, Coef0 float64
	Degree            int
	ZeroDiagonal      bool
	Grid              Grid
	Rows              int
	Columns           int       // features of points, rows of a given matrix, 0 for a graph
	Entries           int64     // of sparse points, at least 1; 0 for all other data
	Mean              []float64 // per feature, subtracted from the points; nil if nothing is
	HalfScale         float64   // entries are float16 multiples of this; 0 if they are float32
	Scale             []float64 // per row, the a_i in a_i a_j k(x_i, x_j); nil if all are 1
}

// Move is labeling.Move.
type Move = labeling.Move

// Candidate is labeling.Candidate.
type Candidate = labeling.Candidate

// ClusterStats is what distances need, beside the row sums, to know about the clusters of one lane.
type ClusterStats struct {
	Lane         int
	Sigma        float64   // the diagonal shift
	Weight       []float64 // s_c, the sum of a_i over the cluster
	SelfAffinity []float64 // Q_c, the sum of S_ic over the points i of the cluster, without shift
	Count        []int32   // points in the cluster
}

// Sparse is a symmetric matrix in compressed rows, with ascending columns and values on the grid.
type Sparse struct {
	RowStart []int64
	Column   []int32
	Value    []float64
}

// Row returns the columns and values of row i, which alias the matrix.
func (s *Sparse) Row(i int) ([]int32, []float64) {
	from, to := s.RowStart[i], s.RowStart[i+1]
	return s.Column[from:to:to], s.Value[from:to:to]
}

// Operands turn the base matrix into a clustering problem.
//
// Lanes are independent labelings, such as restarts, that share the matrix: a column is read once for all of
// them. Clusters and labels are numbered as in labeling.Shape.
type Operands struct {
	ID      uint64    // a new one whenever anything below changes
	K       int       // clusters of each lane
	Lanes   int       // 0 means 1; a graph has one
	Weights []float64 // a_i per row, positive
	Sparse  *Sparse   // the sparse part of M
}

// MaxLanes is how many lanes a shard may have. More would gain nothing.
const MaxLanes = 16

// lanes is the number of lanes.
func (a *Operands) lanes() int { return max(1, a.Lanes) }

// clusters is the number of clusters of all lanes together.
func (a *Operands) clusters() int { return a.lanes() * a.K }

// ErrNotReady says that a tile is not built, has no operands, or is at another step than the operation
// expects. The caller should rebuild it and try again.
var ErrNotReady = errors.New("kernel: tile is not ready")
