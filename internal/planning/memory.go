package planning

import (
	"math"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Unlimited is the free memory of a worker without a limit.
const Unlimited = math.MaxInt64 / 4

// rowOperationBytes is the bytes of a row in each lane of a worker: its label (4), and during one operation the operands
// and the answer, packed and unpacked, with the plan of the sweep (88: a move of every point, packed twice and sorted
// twice).
const rowOperationBytes = 4 + 88

// productRowBytes is a row of one more vector that the matrix is multiplied with, and of its product, as the
// kernel has them and once more packed.
const productRowBytes = 2 * kernel.ProductRowBytes

// blockValueBytes is a value of a block, as the kernel has it, among those of all lanes, and packed.
const blockValueBytes = 24

// blockBytes is what the blocks of all lanes take: for each point a value for each cluster and each point.
func (p Workload) blockBytes() int64 {
	return p.lanes() * int64(p.Block) * int64(p.Block+p.K) * blockValueBytes
}

// sparseEntryBytes is one entry of the sparse part: its column and value, packed on arrival and unpacked.
const sparseEntryBytes = 24

// TileSize is the memory of one tile and its sums.
func (p Workload) TileSize(tile int) partition.Size {
	if p.Vectors != nil {
		return p.Vectors.tileSize(tile, int(p.lanes()))
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

// EntryBytes is the memory of a tile's entries alone.
func (p Workload) EntryBytes(tile int) int64 {
	size := p.TileSize(tile)
	return size.Stored - size.Computed
}

// FixedBytes is a worker's memory for the job beside its tiles: the data as the kernel needs them, what belongs to the
// rows, and what its threads work with.
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

// TileBuildBytes is the temporary memory for building one tile of a given matrix: its rows in float64, and once more
// while the buffer that receives them grows.
func (p Workload) TileBuildBytes() int64 {
	if p.Matrix.Function != kernel.Given {
		return 0
	}
	return 16 * int64(p.Matrix.Rows) * int64(partition.TileRows(p.Matrix.Rows))
}

// FetchBytes is the memory of a data set while it arrives: its own bytes, and as many again while the buffer that
// receives them grows. A given matrix is fetched tile by tile instead.
func (p Workload) FetchBytes() int64 {
	if p.Matrix.Function == kernel.Given {
		return 0
	}
	return 2 * p.DatasetBytes
}

// HeldDatasetBytes is the part of FixedBytes that is the data set itself. A graph is used as it is, and tiles of vectors
// or neighbors are built from the data set at any time. Points of a kernel are released once they are centered, and points that are
// scaled once there is a copy of them in the job's units.
func (p Workload) HeldDatasetBytes() int64 {
	if !p.hasMatrix() && p.Matrix.Function != kernel.Given && !p.Scaled || p.Matrix.Function == kernel.Adjacency {
		return p.DatasetBytes
	}
	return 0
}

// ScaledCopyBytes is a copy of the data set in the units of the job, beside FixedBytes, until the matrix has its own.
// Of vectors and neighbors it is what FixedBytes has in place of the data set.
func (p Workload) ScaledCopyBytes() int64 {
	if p.Scaled && p.hasMatrix() {
		return p.DatasetBytes
	}
	return 0
}

// MinFreeBytes is how much memory a worker must have free to take part at all: first for receiving the data set, then
// for the data set, and its copy in other units, beside FixedBytes.
func (p Workload) MinFreeBytes(threads int) int64 {
	released := p.DatasetBytes - p.HeldDatasetBytes() // once the fixed part is made
	if p.Matrix.Function == kernel.Given {
		released = 0
	}
	return max(p.FetchBytes(), released+p.ScaledCopyBytes()+p.FixedBytes(threads))
}

func (p Workload) edges() int64 {
	return max(0, p.DatasetBytes-8*int64(p.Matrix.Rows)) / 12
}

// Host describes a worker with this much free memory to the placement. A member of the job has allocated the fixed part
// already.
func (p Workload) Host(id string, threads int, free int64, member bool) partition.Host {
	host := partition.Host{ID: id, Weight: threads, FreeBytes: free, Accepting: true}
	if !member {
		host.FreeBytes -= p.FixedBytes(threads)
		if free < p.MinFreeBytes(threads) {
			host.FreeBytes = -1
		}
	}
	return host
}

// addSaturated is a + b, or the largest int64 if that overflows.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
