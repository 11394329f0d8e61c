package planning

import (
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Unlimited is the memory of a worker that knows no limit.
const Unlimited = math.MaxInt64 / 4

// What a worker holds for every row beside its tiles, in bytes: the squared length and the column
// number of the point (12), its weights (16), the start of its sparse part (8); in each lane its label
// (4), and for the length of one operation the operands and the answer, packed and unpacked, with the
// plan of the sweep (88: a move of each point, twice packed, twice sorted).
const (
	keptPerRow = 36
	lanePerRow = 4 + 88
)

// productRow is a row of one more vector that the matrix is multiplied with, and of its product: both
// packed and unpacked.
const productRow = 32

// What a row of a tile has whatever it is made of: its diagonal entry (8) and a zero, or where its sums
// lie and how many there are (12); in each lane the sum of its own cluster (8) and a move (12, and as
// much again while the list of them grows).
const (
	tileRow     = 20
	tileLaneRow = 32
)

// perCluster is what a thread has for every cluster: its share of the self-affinity and a place.
const perCluster = 24

// What a graph has for every entry beside its own bytes: the weight on the grid (8), the share of the
// changes that moved vertices make (2), and a sum (16). A row has sums for adjacent clusters only.
const (
	graphEntry = 8 + 2
	graphSum   = 16
)

// sparseEntry is one entry of the sparse part: column and value, packed on arrival and unpacked.
const sparseEntry = 24

// columnsAtOnce is how many columns a thread computes for one reading of a tile's points.
const columnsAtOnce = 48

// TileSize is the memory of one tile. Stored or not it has the sums of k clusters in float64. Tiles of
// a graph are views of the data set; how many sums they have depends on the degrees of their
// vertices, so a worker's seat counts on those of all.
func (p Problem) TileSize(tile int) partition.Size {
	if p.Vectors != nil {
		return p.Vectors.tileSize(tile)
	}
	entries := kernel.DenseTileBytes(p.Matrix.Rows, tile)
	stride := entries / (4 * int64(p.Matrix.Rows)) // rows, padded to whole vectors
	sums := stride * (tileRow + p.lanes()*(tileLaneRow+8*int64(p.K)))
	switch {
	case p.Matrix.Function == kernel.Adjacency:
		entries, sums = 0, stride*(tileRow+tileLaneRow)
	case p.Matrix.HalfScale != 0:
		entries /= 2
	}
	return partition.Size{Stored: entries + sums, Computed: sums}
}

func (p Problem) lanes() int64 { return int64(max(1, p.Lanes)) }

// Sizes are the sizes of all tiles.
func (p Problem) Sizes() []partition.Size {
	sizes := make([]partition.Size, partition.TileCount(p.Rows()))
	for tile := range sizes {
		sizes[tile] = p.TileSize(tile)
	}
	return sizes
}

// EntryBytes is the memory of a tile's entries alone.
func (p Problem) EntryBytes(tile int) int64 {
	size := p.TileSize(tile)
	return size.Stored - size.Computed
}

// SeatBytes is what a worker of so many threads holds for the job beside its tiles: the data as the
// kernel wants them, what belongs to the rows, and what the threads work on.
func (p Problem) SeatBytes(threads int) int64 {
	if p.Vectors != nil {
		return p.vectorFixedBytes(threads)
	}
	n, d := int64(p.Matrix.Rows), int64(p.Matrix.Columns)
	height, crew := int64(partition.TileRows(p.Matrix.Rows)), int64(max(1, threads))
	seat := n*(keptPerRow+p.lanes()*lanePerRow+int64(max(0, p.Products-1))*productRow) + p.SparseEntries*sparseEntry + crew*p.lanes()*int64(p.K)*perCluster
	switch p.Matrix.Function {
	case kernel.Adjacency:
		entries := p.edges() + p.SparseEntries
		return seat + p.DatasetBytes + graphEntry*entries + graphSum*min(entries, n*int64(p.K))
	case kernel.Given:
		return seat + p.PassingBytes()
	}
	// The centered points in float32. A thread has its tile's points and some columns' in float64, the
	// products of both, and the entries.
	perThread := 8*d*(height+columnsAtOnce) + (8+4)*columnsAtOnce*height + 16*height
	return seat + 4*n*d + crew*perThread
}

// PassingBytes is the rows of a given matrix that pass through while one tile is built: float64, and
// once more while the buffer that takes them in grows.
func (p Problem) PassingBytes() int64 {
	if p.Matrix.Function != kernel.Given {
		return 0
	}
	return 16 * int64(p.Matrix.Rows) * int64(partition.TileRows(p.Matrix.Rows))
}

// FetchBytes is what a data set takes while it arrives: its own bytes, and as many again while the
// buffer that takes them in grows. A given matrix is fetched tile by tile.
func (p Problem) FetchBytes() int64 {
	if p.Matrix.Function == kernel.Given {
		return 0
	}
	return 2 * p.DatasetBytes
}

// HeldBytes is the part of the seat that is the data set itself: a graph is used as it is, and vectors
// are made of the points whenever a tile is built; points of a kernel are let go of once they are
// centered.
func (p Problem) HeldBytes() int64 {
	if p.Vectors != nil || p.Matrix.Function == kernel.Adjacency {
		return p.DatasetBytes
	}
	return 0
}

// JoinBytes is what a worker needs free to take part at all: first it takes in the data set, then it
// makes its seat beside it.
func (p Problem) JoinBytes(threads int) int64 {
	beside := p.DatasetBytes - p.HeldBytes()
	if p.Matrix.Function == kernel.Given {
		beside = 0
	}
	return max(p.FetchBytes(), beside+p.SeatBytes(threads))
}

func (p Problem) edges() int64 {
	return max(0, p.DatasetBytes-8*int64(p.Matrix.Rows)) / 12
}

// Host is a worker with so much free memory as a place for tiles. One that has a seat in the job has
// taken that memory already.
func (p Problem) Host(id string, threads int, free int64, seated bool) partition.Host {
	host := partition.Host{ID: id, Weight: threads, Room: free, Open: true}
	if !seated {
		host.Room -= p.SeatBytes(threads)
		if free < p.JoinBytes(threads) {
			host.Room = -1
		}
	}
	return host
}

// add is a + b, or the most there is.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Bytes is a number of bytes for people.
func Bytes(bytes int64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if float64(bytes) >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
