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
// independent of the order of summation: a sum updated by the points that moved has the same bits
// as one computed anew, on any worker.
package kernel

import "errors"

// Function is how an entry of the base matrix comes about.
type Function uint8

// The kernel functions on points, and the two matrices that are given.
const (
	Linear     Function = 1 // x.y
	Gaussian   Function = 2 // exp(-|x-y|^2 / (2 rho^2))
	Laplacian  Function = 3 // exp(-|x-y| / rho)
	Polynomial Function = 4 // (gamma x.y + coef0)^degree
	Sigmoid    Function = 5 // tanh(gamma x.y + coef0)
	Cosine     Function = 6 // x.y / (|x| |y|)
	Given      Function = 7 // an entry of a given kernel matrix
	Adjacency  Function = 8 // the weight of an edge of a graph
)

// String is the name of the function in the catalog.
func (f Function) String() string {
	return [...]string{"", "linear", "gaussian", "laplacian", "polynomial", "sigmoid", "cosine", "given", "adjacency"}[f]
}

// Spec fixes every entry of the base matrix to the last bit. It is small, but for Mean and Scale,
// and the same on every worker.
type Spec struct {
	Function          Function
	Rho, Gamma, Coef0 float64
	Degree            int
	ZeroDiagonal      bool
	Grid              Grid
	Rows              int
	Columns           int       // features of points, rows of a given matrix, 0 for a graph
	Mean              []float64 // subtracted from the points, per feature; nil: none
	HalfScale         float64   // entries are rounded to float16 multiples of this; 0: they are float32
	Scale             []float64 // a_i in a_i a_j k(x_i, x_j), per row; nil: all 1
}

// Move is one point that changes its cluster within one lane; -1 stands for no cluster.
type Move struct{ Point, From, To int32 }

// Stats is what distances need beside the row sums, of the clusters of one lane. Clusters of weight 0
// are empty.
type Stats struct {
	Lane         int
	Sigma        float64   // the diagonal shift
	Weight       []float64 // s_c, the sum of a_i over the cluster
	SelfAffinity []float64 // Q_c, the sum of S_ic over the cluster, without shift
	Count        []int32   // points in the cluster
}

// Candidate is the point farthest from its own cluster.
type Candidate struct {
	Found    bool
	Point    int32
	Distance float64 // a_i d_i,l(i)
}

// Sparse is a symmetric matrix by rows, columns ascending, values on the grid.
type Sparse struct {
	RowStart []int64
	Column   []int32
	Value    []float64
}

// Row gives the columns and values of row i; both alias the matrix.
func (s *Sparse) Row(i int) ([]int32, []float64) {
	from, to := s.RowStart[i], s.RowStart[i+1]
	return s.Column[from:to:to], s.Value[from:to:to]
}

// Armament turns base tiles into a clustering problem.
//
// Lanes are labelings of their own that share the matrix, such as restarts: one reading of a column
// serves them all. Clusters are numbered through all lanes, those of lane l from l*K on, and labels
// lie lane after lane.
type Armament struct {
	ID      uint64    // changes whenever anything below does
	K       int       // clusters of a lane
	Lanes   int       // 0 means 1; a graph has one
	Weights []float64 // a_i per row, positive
	Sparse  *Sparse   // the sparse part of M
}

// MostLanes is how many lanes a shard may have: more gain nothing any more.
const MostLanes = 16

// lanes is how many there are.
func (a *Armament) lanes() int { return max(1, a.Lanes) }

// clusters is how many all lanes have.
func (a *Armament) clusters() int { return a.lanes() * a.K }

// laneOf is the lane of a move; one that neither leaves nor joins a cluster counts to the first.
func (a *Armament) laneOf(m Move) int { return int(max(m.From, m.To, 0)) / a.K }

// ErrNotReady says that a tile is not built, not armed, or at another step than the operation
// expects: rebuild it and try again.
var ErrNotReady = errors.New("kernel: tile is not ready")
