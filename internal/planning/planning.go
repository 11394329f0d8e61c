// Package planning predicts what a job takes before anything is allocated: the memory of its tiles and of everything
// else on a worker, the coordinator's memory, which tiles are stored, how many passes are made over them, and
// approximately how long that takes. It allocates and measures nothing itself.
//
// The coordinator's placement and the workers' memory accounting use the same functions, so that they agree with the
// plan.
package planning

import (
	"errors"
	"fmt"
	"strings"

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

// Workload is everything about a job that its memory and time depend on: what every job has, and a part for each kind
// of work that it does. Parts may be shared by several workloads, so they are replaced, not changed. Check says which
// parts go together.
type Workload struct {
	DatasetBytes int64 // in canonical form
	Scaled       bool  // workers convert the points of the data set to other units
	Whole        bool  // workers fetch the data set whole, even where rows of it suffice
	Storage      Storage
	K            int
	Lanes        int // concurrent restarts, each with its own sums; 0 means 1
	Restarts     int // 0 means 1
	Times        int // how often everything is done, for different k of which this is the largest; 0 means once

	// What the tiles on workers are. At most one of these is not nil. With none, the job needs no workers, except for
	// its search.
	Matrix    *Matrix
	Vectors   *Vectors
	Neighbors *Neighbors

	Coordinator
}

// Coordinator is what the coordinator does for a job in addition to the tiles on workers, in any combination. What is
// nil it does not do.
type Coordinator struct {
	Eigen  *Eigensolver // it searches for eigenvectors of the matrix
	Levels *Levels      // it merges the vertices of a graph
	Range  *Range       // it runs for several k
	Search *Workload    // it first has workers search for neighbors, whose graph is the data set: Neighbors alone
}

// Check returns an error if parts of the workload exclude each other, which is a defect in the code that made it. The
// tiles are those of a matrix, of vectors or of neighbors, never of two of them. A search is a workload of Neighbors,
// with nothing for the coordinator to do. Everything else goes together. Make checks every workload.
func (w Workload) Check() error {
	var tiles []string
	if w.Matrix != nil {
		tiles = append(tiles, "a matrix")
	}
	if w.Vectors != nil {
		tiles = append(tiles, "vectors")
	}
	if w.Neighbors != nil {
		tiles = append(tiles, "neighbors")
	}
	switch {
	case len(tiles) > 1:
		return fmt.Errorf("planning: the tiles of a workload are %s at once", strings.Join(tiles, " and "))
	case w.Search == nil:
		return nil
	case w.Search.Neighbors == nil || w.Search.Coordinator != (Coordinator{}):
		return errors.New("planning: the search of a workload is not for neighbors alone")
	}
	return w.Search.Check()
}

// kind is what the tiles of a job are, with everything that depends on it. Work is in nanoseconds. A new kind is a part
// of the workload and a type in a file of its own, and a case in Workload.kind and in Workload.Check.
type kind interface {
	rows() int
	partName() string                         // what a part of this kind is for
	storageName(stored, computed bool) string // see StorageName
	explain(plan *Plan, offer string) string  // why the plan is as it is; offer is what workers have

	tiles() int                       // 0 if the job needs no workers
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
	case w.Matrix != nil:
		return matrixJob{w}
	}
	return tilelessJob{levels: w.Levels}
}

// Rows returns the number of rows, n.
func (w Workload) Rows() int { return w.kind().rows() }

// OnGraph reports whether the matrix is the adjacency matrix of a graph.
func (w Workload) OnGraph() bool {
	return w.Matrix != nil && w.Matrix.Spec.Function == kernel.Adjacency
}

// onGivenMatrix reports whether the matrix is the data set.
func (w Workload) onGivenMatrix() bool {
	return w.Matrix != nil && w.Matrix.Spec.Function == kernel.Given
}

// Grid returns the grid of the entries of the matrix, 0 if there is none.
func (w Workload) Grid() kernel.Grid {
	if w.Matrix == nil {
		return 0
	}
	return w.Matrix.Spec.Grid
}

// computable reports whether tiles need not be stored.
func (w Workload) computable() bool { return w.Matrix != nil && !w.OnGraph() && !w.onGivenMatrix() }

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
