package planning

import "github.com/cleave-project/cleave/internal/partition"

// All rates are those of one thread in nanoseconds, measured as processor time on a shared core with AVX-512.
// Predictions are good to a factor of two or three.

// Rates of sweeps over a matrix.
const (
	readEntry     = 0.45 // a stored entry in a sweep
	addEntry      = 0.15 // the same entry in one more lane
	graphEntry    = 13.0 // computing an entry of a graph; for points, see the catalog
	feature       = 0.04 // one feature of an entry
	sparseProduct = 0.5  // one value of a sparse row in an entry
	edge          = 5.0  // an entry of a graph in a sweep
	assignEntry   = 1.0  // the distance of a point to a cluster
	fetchByte     = 2.0  // a byte of a given matrix, from the coordinator
	coordination  = 1e6  // one iteration, over all workers
)

// Rates of the k-means family.
const (
	scoreValue  = 0.4 // a value of a point against a cluster, in an assignment
	visitValue  = 1.0 // a value of a point in an operation that visits each once: sums, the objective
	sparseValue = 5.0 // both, for an entry of a sparse point
)

// Rates of features of landmarks.
const (
	featureValue = 0.08 // a kernel value times a value of the projection
	eigenValue   = 2.5  // a value of the landmarks' matrix, for each landmark, on the coordinator
	exactEntry   = 30   // an entry of the matrix of all points, in the run that landmarks are compared with
)

// Rates of the neighbor search.
const (
	comparePair    = 1.5  // two rows that are compared
	compareValue   = 0.08 // a value of each
	placeRow       = 1500 // a row, to find its position in the tree
	cosineProduct  = 2.0  // two entries in the same column
	cosinePair     = 0.5  // two rows of sparse points
	kernelDistance = 1.5  // an entry of a given kernel matrix
)

// Rates of products and of the search for eigenvectors.
const (
	productEntry = 0.2 // a stored entry times one vector
	productEdge  = 2.0 // an entry of a graph times one vector
	searchValue  = 0.5 // a value of a column in an inner product or sum of the search, on the coordinator
	moveByte     = 1.0 // a byte of vectors or products, sent between the coordinator and a worker
)

// What a run is expected to do. In measured runs of 40 to 150 iterations, the number of moves after the first sweep
// was about the number of points, so that all deltas together cost about one sweep.
const (
	sweepsPerRun    = 2  // one in which all points get clusters, one for all deltas together
	iterations      = 40 // of one run
	productsOfShift = 40 // products of the matrix with a vector, to find the least eigenvalue
)

// seconds estimates how long a plan takes: as long as its slowest worker, plus the coordinator's work.
func (w Workload) seconds(plan *Plan) float64 {
	kind := w.kind()
	longest := 0.0
	for _, share := range plan.Shares {
		rows := min(kind.rows(), (share.Stored+share.Computed)*plan.TileRows)
		longest = max(longest, kind.work(plan, share, float64(rows))/float64(max(1, share.Threads)))
	}
	_, more := kind.coordinator()
	return (longest + kind.rounds()*coordination + w.searchWork(len(plan.Shares)) + w.Levels.work() + more) / 1e9
}

// prepareByte is the time, in nanoseconds on one thread, to make what a job needs from a byte of its data set:
// checking, converting to other units, sorting.
const prepareByte = 50.0

// PieceSeconds returns an upper estimate of how long one thread of a worker takes for the largest piece of work after
// which it can report progress: preparing the data set, or building and reading one tile.
func (w Workload) PieceSeconds() float64 {
	kind := w.kind()
	rows := min(kind.rows(), partition.TileRows(kind.rows()))
	return (kind.pieceWork(float64(rows)) + prepareByte*float64(w.DatasetBytes)) / 1e9
}
