package planning

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// Eigensolver describes the search for a job's eigenvectors. The coordinator keeps the basis of the search; workers
// multiply the matrix by vectors.
type Eigensolver struct {
	Pairs         int   // number of eigenpairs wanted
	Generalized   bool  // the problem has two matrices, as in constrained spectral clustering
	Dense         bool  // a small matrix, solved from all its entries
	OnlyForStart  bool  // the eigenvectors are only the start of iterations
	SparseEntries int64 // entries of a sparse matrix that the coordinator multiplies itself
	Searches      int   // concurrent searches; 0 means 1

	// The k-means on the eigenvectors: their number, and how many restarts.
	Columns  int
	Restarts int
}

// Number of steps that a search is assumed to take. The eigenvalues of a kernel decay quickly: 6 to 40 steps were
// measured. Those of a graph crowd below the wanted ones: 20 to 60 steps, and hundreds if its clusters are not
// distinct.
const (
	kernelSteps = 20
	graphSteps  = 50
)

// block returns how many vectors a step multiplies the matrix by at first.
func (e *Eigensolver) block() int64 {
	block, _ := eigen.SearchSize(e.Pairs)
	return int64(block)
}

// embeddingCopies is how many copies of the embedding exist while k-means runs: as vectors, as rows, as points and as
// tiles.
const embeddingCopies = 4

// embeddingLaneBytes is what a row takes for each concurrent restart of k-means: labels (of the restart, before its
// step, of the executor and of its shard), its share of a tile, and its move in transit.
const embeddingLaneBytes = 4*4 + 32 + 16

// coordinatorEntryBytes is the size of one entry of the coordinator's sparse matrix: position and value, twice while
// entries are sorted.
const coordinatorEntryBytes = 2 * 16

// gcFactor is the peak memory of a process relative to what it uses: garbage is collected when the heap has doubled.
// Unlike workers, the coordinator has no memory limit.
const gcFactor = 2

// CoordinatorBytes returns the peak memory of the coordinator for a job's eigenvectors, the levels of its graph, its
// landmarks, the sample that starts race on, the joint assignment of constrained points, its neighbor graph, and the
// results of a range of k. It does not include the data set, and is 0 if the job has none of these.
func (w Workload) CoordinatorBytes() int64 {
	run, _ := w.kind().coordinator()
	run = addSaturated(max(run, w.Levels.coordinatorBytes(), w.eigenBytes()), w.Range.coordinatorBytes(int64(w.Rows())))
	if w.Search == nil {
		return run
	}
	search := w.Search.Neighbors
	return addSaturated(max(run, search.coordinatorBytes()), search.graphBytes())
}

// eigenBytes returns the coordinator's memory for eigenvectors.
func (w Workload) eigenBytes() int64 {
	if w.Eigen == nil {
		return 0
	}
	n := int64(w.Rows())
	columns := eigen.SearchColumns(w.Eigen.Pairs, w.Eigen.Generalized) * max(1, w.Eigen.Searches)
	if float64(columns)*float64(n) > Unlimited/(16*gcFactor) {
		return Unlimited // rather than overflow
	}
	search := n * int64(columns)
	if w.Eigen.Dense {
		search = eigen.DenseMatrices * n * n
	}
	embedding := n * int64(8*embeddingCopies*w.Eigen.Columns+embeddingLaneBytes*min(w.Eigen.Restarts, vector.MaxLanes))
	return gcFactor * (max(8*search, embedding) + coordinatorEntryBytes*w.Eigen.SparseEntries)
}

// AssumedProducts returns how many vectors the matrix is multiplied by. For a search it is an assumption.
func (w Workload) AssumedProducts() int64 {
	switch {
	case w.Eigen == nil:
		return 0
	case w.Eigen.Dense:
		return int64(w.Rows())
	}
	products := kernelSteps * w.Eigen.block()
	if w.OnGraph() && !w.Eigen.Generalized { // most steps of a pencil work on the surrogate
		products = graphSteps * w.Eigen.block()
	}
	return products
}

// labelsFromEigenvectors reports whether the labels come from the eigenvectors, without iterations after them.
func (w Workload) labelsFromEigenvectors() bool { return w.Eigen != nil && !w.Eigen.OnlyForStart }

// eigenPasses returns the number of passes over the matrix for eigenvectors.
func (w Workload) eigenPasses() float64 {
	if w.Eigen == nil {
		return 0
	}
	block := w.Matrix.vectorsPerPass()
	if !w.Eigen.Dense {
		block = w.Eigen.block()
	}
	// Readings of the matrix for one block.
	readings := (block + w.Matrix.vectorsPerPass() - 1) / w.Matrix.vectorsPerPass()
	return float64(w.AssumedProducts() / block * readings)
}

// searchWork returns the coordinator's time in nanoseconds. Every new column is made orthogonal to the basis, twice,
// and multiplied by it, and the wanted vectors are combined from the basis; vectors are sent; and k-means clusters
// the eigenvectors.
func (w Workload) searchWork(workers int) float64 {
	if w.Eigen == nil {
		return 0
	}
	n := float64(w.Rows())
	products := float64(w.AssumedProducts())
	work := products * n * 8 * moveByte * float64(workers+1)
	work += float64(w.Eigen.Restarts*iterations*w.K*w.Eigen.Columns) * n * scoreValue
	if w.Eigen.Dense {
		return work + 20*n*n*n*searchValue
	}
	_, basis := eigen.SearchSize(w.Eigen.Pairs)
	perColumn := 6 * float64(basis)
	return work + products*n*perColumn*searchValue + w.eigenPasses()*coordination
}

// explainEigen describes what is assumed about the search, or returns "" if there is none.
func (w Workload) explainEigen() string {
	switch {
	case w.Eigen == nil:
		return ""
	case w.Eigen.Dense:
		return fmt.Sprintf("; eigenvectors are found at once, from all %d columns of the matrix", w.Rows())
	}
	return fmt.Sprintf("; the eigensolver is assumed to take %d products of the matrix with a vector, in steps of %d: "+
		"well separated eigenvalues take fewer, crowded ones many times as many",
		w.AssumedProducts(), w.Eigen.block())
}
