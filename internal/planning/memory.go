package planning

import (
	"math"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Unlimited is the free memory of a worker without a limit.
const Unlimited = math.MaxInt64 / 4

// rowOperationBytes is the size of a row in each lane of a worker: its label (4) and, during one operation, the
// operands and the answer, packed and unpacked, with the plan of the sweep (88: a move of every point, packed twice
// and sorted twice).
const rowOperationBytes = 4 + 88

// productRowBytes is the size of a row of one more vector that the matrix is multiplied by, and of its product, as
// the kernel has them and once more packed.
const productRowBytes = 2 * kernel.ProductRowBytes

// blockValueBytes is the size of a value of a block: as the kernel has it, among those of all lanes, and packed.
const blockValueBytes = 24

// blockBytes returns what the blocks of all lanes take: for each point, a value per cluster and per point.
func (p Workload) blockBytes() int64 {
	return p.lanes() * int64(p.Block) * int64(p.Block+p.K) * blockValueBytes
}

// sparseEntryBytes is the size of one entry of the sparse part: column and value, packed on arrival and unpacked.
const sparseEntryBytes = 24

// TileSize returns the memory of one tile and its sums.
func (p Workload) TileSize(tile int) partition.Size {
	if p.Vectors != nil {
		return p.vectorTileSize(tile)
	}
	if p.Neighbors != nil {
		return p.Neighbors.tileSize(tile)
	}
	return p.Matrix.TileSize(tile, p.K, int(p.lanes()))
}

func (p Workload) lanes() int64 { return int64(max(1, p.Lanes)) }

// TileSizes returns the sizes of all tiles.
func (p Workload) TileSizes() []partition.Size {
	if p.onlyLevels() {
		return nil
	}
	sizes := make([]partition.Size, partition.TileCount(p.Rows()))
	for tile := range sizes {
		sizes[tile] = p.TileSize(tile)
	}
	return sizes
}

// EntryBytes returns the memory of a tile's entries alone.
func (p Workload) EntryBytes(tile int) int64 {
	size := p.TileSize(tile)
	return size.Stored - size.Computed
}

// FixedBytes returns a worker's memory for the job in addition to its tiles: the data as the kernel needs them, what
// belongs to the rows, and what its threads work with.
func (p Workload) FixedBytes(threads int) int64 {
	if p.Vectors != nil {
		return p.vectorFixedBytes(threads)
	}
	if p.Neighbors != nil {
		return p.neighborFixedBytes(threads)
	}
	perRow := p.lanes()*rowOperationBytes + int64(max(0, p.Products-1))*productRowBytes
	fixed := p.Matrix.SharedBytes(p.K, p.edges()+p.SparseEntries) + int64(p.Matrix.Rows)*perRow +
		p.SparseEntries*sparseEntryBytes + p.blockBytes() + int64(max(1, threads))*p.Matrix.ThreadBytes(p.K, int(p.lanes()))
	switch p.Matrix.Function {
	case kernel.Adjacency:
		return fixed + p.DatasetBytes
	case kernel.Given:
		return fixed + p.TileBuildBytes()
	}
	return fixed
}

// TileBuildBytes returns the temporary memory for building one tile of a given matrix: its rows in float64, and once
// more while the receiving buffer grows.
func (p Workload) TileBuildBytes() int64 {
	if p.Matrix.Function != kernel.Given {
		return 0
	}
	return 16 * int64(p.Matrix.Rows) * int64(partition.TileRows(p.Matrix.Rows))
}

// FetchBytes returns the memory of a data set while it arrives: its own bytes, and as many again while the receiving
// buffer grows. A given matrix and the rows of a job by rows are fetched tile by tile instead.
func (p Workload) FetchBytes() int64 {
	if p.byTiles() {
		return 0
	}
	return 2 * p.DatasetBytes
}

// byTiles reports whether the data set is fetched tile by tile.
func (p Workload) byTiles() bool { return p.Matrix.Function == kernel.Given || p.ByRows() }

// HeldDatasetBytes returns the part of FixedBytes that is the data set itself. A graph is used in place, and tiles of
// vectors or neighbors can be built from the data set at any time. Points of a kernel are released once they are
// centered, and scaled points once they are copied to the job's units.
func (p Workload) HeldDatasetBytes() int64 {
	if !p.hasMatrix() && !p.byTiles() && !p.Scaled || p.Matrix.Function == kernel.Adjacency {
		return p.DatasetBytes
	}
	return 0
}

// ScaledCopyBytes returns the size of a copy of the data set in the units of the job, which exists in addition to
// FixedBytes until the matrix has its own. For vectors and neighbors it is 0, because FixedBytes contains the copy in
// place of the data set.
func (p Workload) ScaledCopyBytes() int64 {
	if p.Scaled && p.hasMatrix() {
		return p.DatasetBytes
	}
	return 0
}

// MinFreeBytes returns how much memory a worker must have free to take part at all: first to receive the data set,
// then for the data set and its copy in other units in addition to FixedBytes.
func (p Workload) MinFreeBytes(threads int) int64 {
	released := p.DatasetBytes - p.HeldDatasetBytes() // released once the fixed part exists
	if p.byTiles() {
		released = 0
	}
	return max(p.FetchBytes(), released+p.ScaledCopyBytes()+p.FixedBytes(threads))
}

func (p Workload) edges() int64 {
	return max(0, p.DatasetBytes-8*int64(p.Matrix.Rows)) / 12
}

// Host describes a worker with this much free memory to the placement. A member of the job has already allocated the
// fixed part.
func (p Workload) Host(id string, threads int, free int64, member bool) partition.Host {
	host := partition.Host{ID: id, Weight: float64(threads), FreeBytes: free, Accepting: true}
	if !member {
		host.FreeBytes -= p.FixedBytes(threads)
		if free < p.MinFreeBytes(threads) {
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
