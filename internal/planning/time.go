package planning

import (
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Rates of one thread in nanoseconds, measured as processor time on a shared core with AVX-512. Predictions are good
// to a factor of two or three.
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

// What a run is expected to do. In measured runs of 40 to 150 iterations, the number of moves after the first sweep
// was about the number of points, so that all deltas together cost about one sweep.
const (
	sweepsPerRun    = 2  // one in which all points get clusters, one for all deltas together
	iterations      = 40 // of one run
	productsOfShift = 40 // products of the matrix with a vector, to find the least eigenvalue
)

// passes returns how many passes a job makes over the whole matrix after it is built. Lanes share them.
func (w Workload) passes() float64 {
	if w.onlyLevels() {
		return 0
	}
	if w.Vectors != nil {
		return w.vectorPasses()
	}
	if w.Neighbors != nil {
		return 1
	}
	starts := min(1, float64(w.K)/float64(w.Matrix.Rows)) // a column for each cluster
	rounds := (int64(max(1, w.Restarts)) + w.lanes() - 1) / w.lanes()
	passes := float64(rounds) * (sweepsPerRun + starts)
	if w.labelsFromEigenvectors() {
		passes = 1 // for the objective of the labels
	}
	passes += w.eigenPasses()
	if w.Degrees {
		passes++
	}
	if w.Shift {
		passes += productsOfShift
	}
	return passes
}

// entryNanoseconds returns the time of one thread to compute one entry.
func (w Workload) entryNanoseconds() float64 {
	if w.Matrix.Function == kernel.Given {
		return 8 * fetchByte
	}
	named, ofPoints := catalog.FindKernel(w.Matrix.Function.String())
	if !ofPoints {
		return graphEntry
	}
	if w.Matrix.Entries > 0 {
		return named.EntryNanos + sparseProduct*float64(w.Matrix.Entries)/float64(w.Matrix.Rows)
	}
	return named.EntryNanos + feature*float64(w.Matrix.Columns)
}

// slowdown returns how many times longer it takes to compute an entry than to read it.
func (w Workload) slowdown() float64 { return max(1, w.entryNanoseconds()/readEntry) }

// seconds estimates how long a plan takes: as long as its slowest worker, plus the coordinator's work.
func (w Workload) seconds(plan *Plan) float64 {
	if w.onlyLevels() {
		return w.Levels.work() / 1e9
	}
	n, longest := float64(w.Rows()), 0.0
	runs := float64(max(1, w.Restarts) * iterations)
	if w.labelsFromEigenvectors() || w.Neighbors != nil {
		runs = 0
	}
	products := float64(w.AssumedProducts())
	for _, share := range plan.Shares {
		tiles := float64(share.Stored + share.Computed)
		rows := min(n, tiles*float64(partition.TileRows(w.Rows())))
		if w.Neighbors != nil {
			longest = max(longest, w.Neighbors.work()*rows/n/float64(max(1, share.Threads)))
			continue
		}
		if w.Vectors != nil {
			longest = max(longest, w.vectorWork(rows)/float64(max(1, share.Threads)))
			continue
		}
		clusters := float64(w.K)
		if w.Matrix.Function == kernel.Adjacency {
			clusters = min(clusters, 2+float64(w.edges())/n) // the clusters in which a vertex has neighbors
		}
		work := runs * rows * clusters * assignEntry
		if w.Matrix.Function == kernel.Adjacency {
			work += rows / n * float64(w.edges()) * ((plan.Passes-w.eigenPasses())*edge + products*productEdge)
		} else {
			stored := rows * n * float64(share.Stored) / tiles
			computed := rows * n * float64(share.Computed) / tiles
			sum := float64(w.lanes()-1)*addEntry*plan.Passes + products*productEntry
			work += stored*(w.entryNanoseconds()+plan.Passes*readEntry+sum) + computed*(plan.Passes*w.entryNanoseconds()+sum)
		}
		longest = max(longest, work/float64(max(1, share.Threads)))
	}
	return (longest + runs*coordination + w.searchWork(len(plan.Shares)) + w.Levels.work() + w.landmarkWork() + w.raceWork()) / 1e9
}

// prepareByte is the time, in nanoseconds on one thread, to make what a job needs from a byte of its data set:
// checking, converting to other units, sorting.
const prepareByte = 50.0

// PieceSeconds returns an upper estimate of how long one thread of a worker takes for the largest piece of work after
// which it can report progress: preparing the data set, or building and reading one tile.
func (w Workload) PieceSeconds() float64 {
	n := float64(w.Rows())
	rows := min(n, float64(partition.TileRows(w.Rows())))
	work := 0.0
	switch {
	case w.onlyLevels():
	case w.Neighbors != nil:
		work = w.Neighbors.work() * rows / n
	case w.Vectors != nil:
		lanes := float64(w.lanes())
		w.Restarts = 1
		work = lanes * w.vectorWork(rows) // the work of a whole run, which is more than enough
	case w.Matrix.Function == kernel.Adjacency:
		// One tile may contain all edges.
		work = float64(w.edges()) * (graphEntry + edge + float64(w.vectorsPerPass())*productEdge)
	default:
		entry := w.entryNanoseconds() + readEntry + float64(w.lanes())*addEntry + float64(w.vectorsPerPass())*productEntry
		work = rows * n * entry
	}
	return (work + prepareByte*float64(w.DatasetBytes)) / 1e9
}
