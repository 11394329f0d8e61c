package planning

import (
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Neighbors describes a search for the nearest neighbors of all rows.
type Neighbors struct {
	Rows, Columns int
	Count         int  // neighbors per row
	Sparse        bool // the data set consists of sparse points
	Given         bool // the data set is a kernel matrix, fetched by rows
	Entries       int64
	Products      int64 // in all cosines, products of two entries of sparse points in the same column
}

// NewNeighbors describes the search among the rows of a data set.
func NewNeighbors(data dataset.Dataset, count int) *Neighbors {
	s := &Neighbors{Rows: data.Rows(), Count: neighbor.Count(data.Rows(), count)}
	switch data := data.(type) {
	case *dataset.Points:
		s.Columns = data.D
	case *dataset.Kernel:
		s.Columns, s.Given = data.N, true
	case *dataset.SparsePoints:
		s.Columns, s.Sparse, s.Entries, s.Products = data.D, true, int64(data.NonZeros()), neighbor.CosineProducts(data)
	}
	return s
}

// NeighborWorkload returns the workload of a search among the rows of a data set that takes datasetBytes in canonical
// form.
func NeighborWorkload(data dataset.Dataset, datasetBytes int64, count int) Workload {
	return Workload{Neighbors: NewNeighbors(data, count), DatasetBytes: datasetBytes, K: 1}
}

// neighborJob is a search for neighbors.
type neighborJob struct{ Workload }

func (w neighborJob) rows() int                   { return w.Neighbors.Rows }
func (w neighborJob) tiles() int                  { return partition.TileCount(w.rows()) }
func (neighborJob) partName() string              { return "the search for neighbors" }
func (neighborJob) storageName(bool, bool) string { return "neighbors" }
func (neighborJob) passes() float64               { return 1 }
func (neighborJob) rounds() float64               { return 0 }
func (neighborJob) coordinator() (int64, float64) { return 0, 0 }

func (w neighborJob) snapshotBytes() float64 {
	return 4 * float64(w.Neighbors.Rows) * float64(w.Neighbors.Count)
}

func (w neighborJob) work(_ *Plan, _ Share, rows float64) float64 { return w.pieceWork(rows) }

func (w neighborJob) pieceWork(rows float64) float64 {
	return w.Neighbors.work() * rows / float64(w.Neighbors.Rows)
}

// tileSize returns the memory of the rows and the neighbors of one tile: as found, in the answer of several tiles,
// and packed.
func (w neighborJob) tileSize(tile int) partition.Size {
	bytes := 3 * 4 * int64(partition.Tile(w.Neighbors.Rows, tile).Len()) * int64(1+w.Neighbors.Count)
	return partition.Size{Stored: bytes, Computed: bytes}
}

// fixedBytes returns a worker's memory for a search in addition to its tiles: the data set, what is derived from it,
// and what its threads work with.
func (w neighborJob) fixedBytes(threads int) int64 {
	s := w.Neighbors
	n, count, each := int64(s.Rows), int64(s.Count), int64(max(1, threads))
	if s.Given {
		const rowBytes = 28 // its number, and its diagonal entry, packed and unpacked
		return rowBytes*n + w.TileBuildBytes() + each*neighbor.ListBytes(count)
	}
	if s.Sparse {
		return w.DatasetBytes + neighbor.SparseBytes(n, int64(s.Columns), s.Entries) +
			each*neighbor.SparseThreadBytes(n, count)
	}
	return w.DatasetBytes + neighbor.PointBytes(n, int64(s.Columns)) +
		each*neighbor.PointThreadBytes(n, int64(s.Columns), count)
}

func (w neighborJob) explain(_ *Plan, offer string) string {
	if w.Neighbors.Given {
		return "every worker reads the rows of its tiles from the kernel matrix; " + offer
	}
	return fmt.Sprintf("every worker with tiles holds the whole data set (%s), and a copy of it in which neighbors "+
		"are found; %s",
		text.Bytes(w.DatasetBytes), offer)
}

// Edges returns the maximum number of edges of the neighbor graph.
func (n *Neighbors) Edges() int64 {
	rows := int64(n.Rows)
	return min(rows*int64(n.Count), rows*(rows-1)/2)
}

// graphBytes returns the coordinator's memory for the neighbor graph: as it is clustered, and packed for workers.
func (n *Neighbors) graphBytes() int64 {
	return gcFactor * 2 * dataset.CompressedBytes(int64(n.Rows), 2*n.Edges())
}

// coordinatorBytes returns the memory for making the graph: the neighbors as they arrive and put together, and the
// edges.
func (n *Neighbors) coordinatorBytes() int64 {
	const neighborBytes, edgeBytes = 2 * 4, 16
	return gcFactor * (neighborBytes*int64(n.Rows)*int64(n.Count) + edgeBytes*n.Edges())
}

// work returns the time of one thread for all rows, in nanoseconds.
func (n *Neighbors) work() float64 {
	rows, columns := float64(n.Rows), float64(n.Columns)
	switch {
	case n.Given:
		return rows * rows * (8*fetchByte + kernelDistance)
	case n.Sparse:
		return float64(n.Products)*cosineProduct + rows*rows*cosinePair
	}
	return rows*placeRow + rows*n.compared()*(comparePair+compareValue*columns)
}

// compared returns approximately how many rows a row is compared with if columns are independent: all of them, unless
// there are few columns. It was measured for 20,000 to 400,000 rows of 1 to 8 columns.
func (n *Neighbors) compared() float64 {
	const nearby, perColumn = 350, 1.9
	return min(float64(n.Rows), nearby*math.Pow(perColumn, min(float64(n.Columns), 64)))
}
