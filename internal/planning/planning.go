// Package planning predicts what a job takes before anything is allocated: the memory of its tiles and of everything
// else on a worker, the coordinator's memory, which tiles are stored, how many passes are made over them, and
// approximately how long that takes. It allocates and measures nothing itself.
//
// The coordinator's placement and the workers' memory accounting use the same functions, so that they agree with the
// plan.
package planning

import (
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Storage is how the user wants the matrix to be stored. It does not affect the bits of the answer.
type Storage uint8

// The storage modes.
const (
	Auto    Storage = iota // store as many tiles as fit into memory
	Float32                // store all tiles, or reject the job
	None                   // store no tile; compute entries whenever they are needed
)

func (s Storage) String() string { return [...]string{"auto", "float32", "none"}[s] }

// Workload is everything about a job that its memory and time depend on.
type Workload struct {
	Matrix        kernel.MatrixSpec // only its function, size and precision matter
	Vectors       *Vectors          // for the k-means family, which has no matrix; else nil
	Neighbors     *Neighbors        // for a neighbor search, which has neither; else nil
	Search        *Workload         // the neighbor search that runs first, if its graph is the data set; else nil
	DatasetBytes  int64             // in canonical form
	Scaled        bool              // workers convert the points of the data set to other units
	Whole         bool              // workers fetch the data set whole, even where rows of it suffice
	K             int
	Lanes         int          // concurrent restarts, each with its own sums; 0 means 1
	Products      int          // how many vectors the matrix is multiplied by at a time; 0 means 1
	SparseEntries int64        // upper bound for the sparse part: two per constraint, and one per row for ratio cut
	Eigen         *Eigensolver // for a job that finds eigenvectors, else nil
	// For a job that merges the vertices of a graph, else nil; if it has nothing else, it uses no workers.
	Levels  *Levels
	Range   *Range // for a job that runs for several k, else nil
	Storage Storage

	// Fields that affect the predicted time; Block also affects memory.
	Block    int  // points in one block of local search; 0 means no local search
	Restarts int  // 0 means 1
	Times    int  // how often everything is done, for different k of which this is the largest; 0 means once
	Degrees  bool // the objective needs the row sums
	Shift    bool // the diagonal shift is found from the least eigenvalue

	Landmarkable bool // landmarks could take the place of the matrix
}

// kind is what the tiles of a job are, with everything that depends on it. Work is in nanoseconds. A new kind is a type
// in a file of its own, and a case in Workload.kind.
type kind interface {
	rows() int
	partName() string                         // what a part of this kind is for
	storageName(stored, computed bool) string // see StorageName
	explain(plan *Plan, offer string) string  // why the plan is as it is; offer is what workers have

	tileSize(tile int) partition.Size // see TileSize
	fixedBytes(threads int) int64     // see FixedBytes
	snapshotBytes() float64           // in addition to labels

	passes() float64                                    // over all tiles, after they are built; lanes share them
	rounds() float64                                    // iterations, in each of which the coordinator asks all workers
	work(plan *Plan, share Share, rows float64) float64 // of one thread, for all rows of a share
	// of one thread, for a tile of this many rows: an upper estimate
	pieceWork(rows float64) float64
	coordinator() (bytes int64, work float64) // of the coordinator, besides levels and eigenvectors
}

func (w Workload) kind() kind {
	switch {
	case w.Vectors != nil:
		return vectorJob{w}
	case w.Neighbors != nil:
		return neighborJob{w}
	case w.Levels != nil && w.Matrix.Rows == 0:
		return levelJob{matrixJob{w}}
	}
	return matrixJob{w}
}

// Rows returns the number of rows, n.
func (w Workload) Rows() int { return w.kind().rows() }

// hasMatrix reports whether the tiles are rows of a matrix.
func (w Workload) hasMatrix() bool {
	_, has := w.kind().(matrixJob)
	return has
}

// computable reports whether tiles need not be stored.
func (w Workload) computable() bool {
	return w.hasMatrix() && w.Matrix.Function != kernel.Given && w.Matrix.Function != kernel.Adjacency
}

// StorageRule returns which tiles are stored. Tiles of graphs, given matrices, vectors and neighbors always are.
func (w Workload) StorageRule() partition.StorageRule {
	switch {
	case !w.computable() || w.Storage == Float32:
		return partition.StoreAll
	case w.Storage == None:
		return partition.StoreNone
	}
	return partition.StoreWhatFits
}

// StorageName returns the name of what is stored, given whether there are stored tiles and tiles that are not stored.
func (w Workload) StorageName(stored, computed bool) string {
	return w.kind().storageName(stored, computed)
}
