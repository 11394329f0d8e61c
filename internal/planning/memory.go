package planning

import (
	"math"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/partition"
)

// Unlimited is the free memory of a worker without a limit.
const Unlimited = math.MaxInt64 / 4

// rowOperationBytes is the size of a row in each lane of a worker: its label (4) and, during one operation, the
// operands and the answer, packed and unpacked, with the plan of the sweep (88: a move of every point, packed twice
// and sorted twice).
const rowOperationBytes = 4 + 88

// TileSize returns the memory of one tile and its sums.
func (w Workload) TileSize(tile int) partition.Size { return w.kind().tileSize(tile) }

func (w Workload) lanes() int64 { return int64(max(1, w.Lanes)) }

// TileSizes returns the sizes of all tiles.
func (w Workload) TileSizes() []partition.Size {
	kind := w.kind()
	sizes := make([]partition.Size, kind.tiles())
	for tile := range sizes {
		sizes[tile] = kind.tileSize(tile)
	}
	return sizes
}

// EntryBytes returns the memory of a tile's entries alone.
func (w Workload) EntryBytes(tile int) int64 {
	size := w.TileSize(tile)
	return size.Stored - size.Computed
}

// FixedBytes returns a worker's memory for the job in addition to its tiles: the data in the form the kernel needs,
// what belongs to the rows, and what its threads work with.
func (w Workload) FixedBytes(threads int) int64 { return w.kind().fixedBytes(threads) }

// TileBuildBytes returns the temporary memory for building one tile of a given matrix: its rows in float64, and once
// more while the receiving buffer grows.
func (w Workload) TileBuildBytes() int64 {
	if !w.given() {
		return 0
	}
	return 16 * int64(w.Rows()) * int64(partition.TileRows(w.Rows()))
}

// FetchBytes returns the memory of a data set while it arrives: its own bytes, and as many again while the receiving
// buffer grows. A given matrix and the rows of a job by rows are fetched tile by tile instead.
func (w Workload) FetchBytes() int64 {
	if w.byTiles() {
		return 0
	}
	return 2 * w.DatasetBytes
}

// byTiles reports whether the data set is fetched tile by tile.
func (w Workload) byTiles() bool { return w.given() || w.ByRows() }

// given reports whether the data set is a kernel matrix.
func (w Workload) given() bool {
	return w.onGivenMatrix() || w.Neighbors != nil && w.Neighbors.Given
}

// HeldDatasetBytes returns the part of FixedBytes that is the data set itself. A graph is used in place, and tiles of
// vectors or neighbors can be built from the data set at any time. Points of a kernel are released once they are
// centered, and scaled points once they are copied to the job's units.
func (w Workload) HeldDatasetBytes() int64 {
	if w.Matrix == nil && !w.byTiles() && !w.Scaled || w.OnGraph() {
		return w.DatasetBytes
	}
	return 0
}

// ScaledCopyBytes returns the size of a copy of the data set in the units of the job, which exists in addition to
// FixedBytes until the matrix has its own. For vectors and neighbors it is 0, because FixedBytes contains the copy in
// place of the data set.
func (w Workload) ScaledCopyBytes() int64 {
	if w.Scaled && w.Matrix != nil {
		return w.DatasetBytes
	}
	return 0
}

// MinFreeBytes returns how much memory a worker must have free to take part at all: first to receive the data set,
// then for the data set and its copy in other units in addition to FixedBytes.
func (w Workload) MinFreeBytes(threads int) int64 {
	released := w.DatasetBytes - w.HeldDatasetBytes() // released once the fixed part exists
	if w.byTiles() {
		released = 0
	}
	return max(w.FetchBytes(), released+w.ScaledCopyBytes()+w.FixedBytes(threads))
}

// Host describes a worker with this much free memory to the placement. A member of the job has already allocated the
// fixed part.
func (w Workload) Host(id string, threads int, free int64, member bool) partition.Host {
	host := partition.Host{ID: id, Weight: float64(threads), FreeBytes: free, Accepting: true}
	if !member {
		host.FreeBytes -= w.FixedBytes(threads)
		if free < w.MinFreeBytes(threads) {
			host.FreeBytes = -1
		}
	}
	return host
}

// addSaturated returns a + b, or the largest int64 if that overflows. b must not be negative.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Range describes a job that runs for several k: what the coordinator keeps of each until one is proposed.
type Range struct {
	Numbers   int   // number of k
	Columns   int   // maximum number of coordinates in a result; 0 if there are none
	Labelings int   // restarts of each k, whose labels show how certain a row's label is
	PartBytes int64 // bytes of the parts of the data that are clustered in addition
}

// resultRowBytes is the size of a row of a result: its label, its distance and its margin.
const resultRowBytes = 4 + 8 + 8

// coordinatorBytes returns the memory for n rows. The coordinates exist once more as the eigenvectors that all k
// share.
func (r *Range) coordinatorBytes(n int64) int64 {
	if r == nil {
		return 0
	}
	perRow := int64(r.Numbers)*(resultRowBytes+int64(r.Labelings)) + int64(r.Numbers+1)*8*int64(r.Columns)
	if float64(n)*float64(perRow) > Unlimited/gcFactor {
		return Unlimited
	}
	return addSaturated(gcFactor*n*perRow, r.PartBytes)
}

// minSnapshotBytes is the least memory for the states of one job.
const minSnapshotBytes = 1 << 20

// MaxSnapshotBytes is the most memory that the coordinator reserves for the states of one job.
const MaxSnapshotBytes = 1 << 30

// restartSnapshotBytes is what a restart takes in a snapshot in addition to its labels and model: the reports of its
// iterations.
const restartSnapshotBytes = 4 << 10

// SnapshotBytes returns the coordinator's memory for the states of all parts of a job, from which another process
// could resume (package snapshot). Two states exist at a time, because a new one is made before the old one is
// dropped.
func SnapshotBytes(parts []Workload) int64 {
	bytes := 0.0
	for _, part := range parts {
		bytes += part.stateBytes()
	}
	return int64(min(max(2*bytes, minSnapshotBytes), MaxSnapshotBytes))
}

// stateBytes returns the size of the states of a part once all of it is done or in progress.
func (w Workload) stateBytes() float64 {
	labels := float64(w.Rows()) * labelBytes(w.K)
	restarts := float64(max(1, w.Restarts))
	if w.Eigen != nil {
		restarts += float64(w.Eigen.Restarts)
	}
	bytes := float64(max(1, w.Times)) * restarts * (labels + restartSnapshotBytes)
	running := float64(w.lanes()) + 1 // plus the best finished one, which keeps its whole state
	bytes += running*labels + w.kind().snapshotBytes()
	if e := w.Eigen; e != nil && !e.Dense {
		bytes += 8 * float64(w.Rows()) * float64(eigen.StateColumns(e.Pairs, e.Generalized)) *
			float64(max(1, e.Searches))
	}
	if l := w.Levels; l != nil {
		bytes += float64(max(1, l.Fits)) * float64(l.Vertices) * labelBytes(l.K)
	}
	if w.Search != nil {
		bytes += w.Search.stateBytes()
	}
	return bytes
}

// labelBytes returns the size of a label in a snapshot.
func labelBytes(k int) float64 {
	switch {
	case k < 1<<8:
		return 1
	case k < 1<<16:
		return 2
	}
	return 4
}
