package planning

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/spectral"
)

// Eigen is the search for eigenvectors of a job: the coordinator keeps the basis of the search, workers
// multiply.
type Eigen struct {
	Pairs  int   // wanted
	Pencil bool  // of two matrices, as constrained spectral clustering has them
	AtOnce bool  // from all entries of small matrices
	Start  bool  // only for a start: iterations follow
	Sparse int64 // entries of a sparse matrix that the coordinator multiplies with itself

	// k-means on the eigenvectors.
	Columns  int
	Restarts int
}

// How many steps a search is assumed to take. The eigenvalues of a kernel fall quickly: 6 to 40 were
// measured. Those of a graph crowd below the wanted ones: 20 to 60, and hundreds where its clusters do not
// show.
const (
	kernelSteps = 20
	graphSteps  = 50
)

// block is how many vectors a step multiplies the matrix with at first.
func (e *Eigen) block() int64 {
	block, _ := spectral.SearchSize(e.Pairs)
	return int64(block)
}

// embeddingCopies is how often the embedding is there when k-means is at work: as vectors, as rows, as
// points and as tiles.
const embeddingCopies = 4

// sparseOfOwn is one entry of the coordinator's sparse matrix: its place and value, twice while they are
// sorted.
const sparseOfOwn = 2 * 16

// uncollected is how many times what it holds a process may have at its peak: memory is collected when it
// has doubled. The coordinator, other than workers, keeps to no limit.
const gcFactor = 2

// CoordinatorBytes is what the eigenvectors of a job take of the coordinator at its peak, beside its data
// set; 0 where there are none.
func (p Problem) CoordinatorBytes() int64 {
	if p.Eigen == nil {
		return 0
	}
	n := int64(p.Rows())
	search := n * int64(spectral.SearchColumns(p.Eigen.Pairs, p.Eigen.Pencil))
	if p.Eigen.AtOnce {
		search = spectral.DenseMatrices * n * n
	}
	return gcFactor * (8*max(search, n*int64(embeddingCopies*p.Eigen.Columns)) + sparseOfOwn*p.Eigen.Sparse)
}

// AssumedProducts is how many vectors the matrix is multiplied with, assumed where a search decides.
func (p Problem) AssumedProducts() int64 {
	switch {
	case p.Eigen == nil:
		return 0
	case p.Eigen.AtOnce:
		return int64(p.Rows())
	}
	products := kernelSteps * p.Eigen.block()
	if p.Matrix.Function == kernel.Adjacency && !p.Eigen.Pencil { // which the surrogate does the steps for
		products = graphSteps * p.Eigen.block()
	}
	return products
}

// ends tells whether labels come of eigenvectors alone.
func (p Problem) labelsFromEigenvectors() bool { return p.Eigen != nil && !p.Eigen.Start }

// together is how many vectors share a reading of the matrix.
func (p Problem) vectorsPerPass() int64 { return int64(max(1, p.Products)) }

// eigenPasses is how often the matrix is gone over for eigenvectors.
func (p Problem) eigenPasses() float64 {
	if p.Eigen == nil {
		return 0
	}
	block := p.vectorsPerPass()
	if !p.Eigen.AtOnce {
		block = p.Eigen.block()
	}
	readings := (block + p.vectorsPerPass() - 1) / p.vectorsPerPass() // for a block
	return float64(p.AssumedProducts() / block * readings)
}

// Rates of products and of the search, as those of time.go.
const (
	productEntry = 0.2 // a stored entry times one more vector
	productEdge  = 2.0 // an entry of a graph times one more vector
	searchValue  = 0.5 // a value of a column in the search's sums, on the coordinator
	moveByte     = 1.0 // of vectors and products, between the coordinator and a worker
)

// searchWork is the nanoseconds of the coordinator: every new column is made orthogonal to the basis,
// twice, measured against it, and the wanted vectors are combined of it; vectors travel; and k-means
// clusters what was found.
func (p Problem) searchWork(workers int) float64 {
	if p.Eigen == nil {
		return 0
	}
	n, products := float64(p.Rows()), float64(p.AssumedProducts())
	work := products * n * 8 * moveByte * float64(workers+1)
	work += float64(p.Eigen.Restarts*iterations*p.K*p.Eigen.Columns) * n * scoreValue
	if p.Eigen.AtOnce {
		return work + 20*n*n*n*searchValue
	}
	_, basis := spectral.SearchSize(p.Eigen.Pairs)
	perColumn := 6 * float64(basis)
	return work + products*n*perColumn*searchValue + p.eigenPasses()*coordination
}

// explainEigen says what is assumed of the search.
func (p Problem) explainEigen() string {
	switch {
	case p.Eigen == nil:
		return ""
	case p.Eigen.AtOnce:
		return fmt.Sprintf("; eigenvectors are found at once, from all %d columns of the matrix", p.Rows())
	}
	return fmt.Sprintf("; the eigensolver is assumed to take %d products of the matrix with a vector, in steps of %d: eigenvalues that lie apart take fewer, those that crowd many times as many",
		p.AssumedProducts(), p.Eigen.block())
}
