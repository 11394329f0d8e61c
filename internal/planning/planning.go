// Package planning tells before anything is allocated what a job takes: the memory of its tiles and
// of a worker's part in it, which tiles are stored, how often they are gone over and about how
// long that takes. The coordinator's placement and the workers' books do their sums here, so that
// they agree with the plan.
package planning

import (
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Storage is how the user wants the matrix to be held. It changes no bit of the answer.
type Storage uint8

// The storage modes.
const (
	Auto    Storage = iota // tiles are stored as far as memory allows
	Float32                // all are, or the job is refused
	None                   // none is: entries are computed again whenever they are needed
)

func (s Storage) String() string { return [...]string{"auto", "float32", "none"}[s] }

// Check refuses a mode that a kind of data set does not have: only the entries of points can be
// computed again.
func (s Storage) Check(kind dataset.Kind) error {
	switch {
	case s != None || kind == dataset.KindPoints:
		return nil
	case kind == dataset.KindGraph:
		return fault.Invalid("OPTION_DOES_NOT_APPLY",
			"storage none does not apply to a graph: its edges are all that is held, there is no matrix to leave out").OnField("spec.storage")
	}
	return fault.Invalid("OPTION_DOES_NOT_APPLY",
		"storage none does not apply to a %v: its entries are given and cannot be computed again; use auto or float32", kind).OnField("spec.storage")
}

// Problem is a job as far as its memory and time are concerned.
type Problem struct {
	Matrix        kernel.Spec // its function, rows and columns
	Vectors       *Vectors    // of a job of the vector family, which has no matrix
	DatasetBytes  int64       // canonical
	K             int
	Lanes         int    // restarts side by side, each with sums of its own; 0 means 1
	Products      int    // vectors that the matrix is multiplied with at a time; 0 means 1
	SparseEntries int64  // of the sparse part, at most: two per constraint, one per row for ratio cut
	Eigen         *Eigen // of a job that finds eigenvectors
	Storage       Storage

	// Only the time depends on these.
	Restarts int  // 0 means 1
	Degrees  bool // the objective needs the row sums
	Shift    bool // the diagonal shift is found by the least eigenvalue
}

// Rows is n.
func (p Problem) Rows() int {
	if p.Vectors != nil {
		return p.Vectors.Rows
	}
	return p.Matrix.Rows
}

// computable tells whether tiles need not be stored.
func (p Problem) computable() bool {
	return p.Vectors == nil && p.Matrix.Function != kernel.Given && p.Matrix.Function != kernel.Adjacency
}

// Rule is which tiles are stored. Those of graphs, given matrices and vectors always are.
func (p Problem) Rule() partition.Rule {
	switch {
	case !p.computable() || p.Storage == Float32:
		return partition.StoreAll
	case p.Storage == None:
		return partition.StoreNone
	}
	return partition.StoreWhatFits
}

// StorageName is what is held, in a word: stored tiles, tiles that are not, or both.
func (p Problem) StorageName(stored, computed bool) string {
	entries := "float32"
	if p.Matrix.HalfScale != 0 {
		entries = "float16"
	}
	switch {
	case p.Vectors != nil && p.Vectors.isSparse():
		return "sparse vectors"
	case p.Vectors != nil:
		return "vectors"
	case p.Matrix.Function == kernel.Adjacency:
		return "sparse"
	case stored && computed:
		return entries + "+none"
	case computed:
		return "none"
	}
	return entries
}
