// Package planning predicts what a job takes, before anything is allocated: the memory of its tiles and of everything
// beside them on a worker, which tiles are stored, how many passes are made over them, and about how long that takes.
// The coordinator's placement and the workers' memory accounting use the same functions, so that they agree with the
// plan.
package planning

import (
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Storage says how the user wants the matrix to be stored. It does not change a bit of the answer.
type Storage uint8

// The storage modes.
const (
	Auto    Storage = iota // as many tiles are stored as fit into memory
	Float32                // all tiles are stored, or the job is refused
	None                   // no tile is stored: entries are computed whenever they are needed
)

func (s Storage) String() string { return [...]string{"auto", "float32", "none"}[s] }

// Workload is everything about a job that its memory and time depend on.
type Workload struct {
	Matrix        kernel.MatrixSpec // only its function, its size and its precision matter
	Vectors       *Vectors          // for a job of the vector family, which has no matrix
	Neighbors     *Neighbors        // for a search for neighbors, which has neither
	Search        *Workload         // for neighbors, which comes first where their graph is the data set
	DatasetBytes  int64             // in canonical form
	Scaled        bool              // workers put the points of the data set into other units
	K             int
	Lanes         int          // restarts that run side by side, each with its own sums; 0 means 1
	Products      int          // how many vectors the matrix is multiplied with at a time; 0 means 1
	SparseEntries int64        // an upper bound for the sparse part: two per constraint, and one per row for ratio cut
	Eigen         *Eigensolver // for a job that finds eigenvectors
	Levels        *Levels      // for a job that merges the vertices of a graph; where there is nothing else, workers have no part in it
	Range         *Range       // for a job that is run for several k
	Storage       Storage

	// Only the predicted time depends on these.
	Block    int  // points of one block of local search; 0: there is none
	Restarts int  // 0 means 1
	Times    int  // how often all of it is done, for different k of which this is the largest; 0 means once
	Degrees  bool // whether the objective needs the row sums
	Shift    bool // whether the diagonal shift is found from the least eigenvalue

	Landmarkable bool // whether landmarks could take the place of the matrix
}

// Rows is n.
func (p Workload) Rows() int {
	switch {
	case p.onlyLevels():
		return p.Levels.Vertices
	case p.Vectors != nil:
		return p.Vectors.Rows
	case p.Neighbors != nil:
		return p.Neighbors.Rows
	}
	return p.Matrix.Rows
}

// hasMatrix tells whether the tiles are rows of a matrix.
func (p Workload) hasMatrix() bool { return p.Vectors == nil && p.Neighbors == nil }

// computable tells whether tiles need not be stored.
func (p Workload) computable() bool {
	return p.hasMatrix() && p.Matrix.Function != kernel.Given && p.Matrix.Function != kernel.Adjacency
}

// StorageRule says which tiles are stored. Tiles of graphs, given matrices, vectors and neighbors always are.
func (p Workload) StorageRule() partition.StorageRule {
	switch {
	case !p.computable() || p.Storage == Float32:
		return partition.StoreAll
	case p.Storage == None:
		return partition.StoreNone
	}
	return partition.StoreWhatFits
}

// StorageName names what is stored, given whether there are stored tiles and tiles that are not stored.
func (p Workload) StorageName(stored, computed bool) string {
	entries := "float32"
	if p.Matrix.HalfScale != 0 {
		entries = "float16"
	}
	switch {
	case p.onlyLevels():
		return "sparse"
	case p.Vectors != nil && p.Vectors.isSparse():
		return "sparse vectors"
	case p.Vectors != nil:
		return "vectors"
	case p.Neighbors != nil:
		return "neighbors"
	case p.Matrix.Function == kernel.Adjacency:
		return "sparse"
	case stored && computed:
		return entries + "+none"
	case computed:
		return "none"
	}
	return entries
}
