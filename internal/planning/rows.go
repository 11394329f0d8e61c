package planning

import (
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// A worker of a k-means-family job needs only the rows of its own tiles. It fetches the pieces of the data set that
// contain them when it builds the tiles, and keeps nothing but the tiles.

const (
	// PieceBytes is the size of the pieces that data sets travel in.
	PieceBytes = 4 << 20
	// wholePieces is the number of pieces up to which a data set is fetched whole: parts of so few pieces would save
	// little, because neighboring parts share the pieces at their borders.
	wholePieces = 8
	// leastBuildPieces is the least number of pieces that tiles are built from at a time.
	leastBuildPieces = 2
)

// ByRows reports whether workers fetch only the rows of their tiles.
func (w Workload) ByRows() bool {
	return w.Vectors != nil && !w.Whole && w.DatasetBytes > wholePieces*PieceBytes
}

// BuildPieces returns how many pieces a worker of a job by rows holds while it builds the tiles of their rows, in
// addition to as many of the next tiles: enough for every thread to build one tile, whose rows may begin and end
// within a piece in each place of the data set where they are.
func (w Workload) BuildPieces(threads int) int64 {
	rows, places := int64(max(1, threads))*w.tileDataBytes(), int64(1)
	if w.Vectors.isSparse() {
		places = sparsePlaces
	}
	return max(leastBuildPieces, (rows+PieceBytes-1)/PieceBytes+2*places-1)
}

// sparsePlaces is the number of places in the data set where the rows of a tile of sparse points are: their starts,
// their columns and their values lie apart.
const sparsePlaces = 3

// tileDataBytes returns the size of the rows of a full tile in the data set; if tiles differ, that of the largest.
func (w Workload) tileDataBytes() int64 {
	rows := int64(partition.TileRows(w.Vectors.Rows))
	if w.Vectors.isSparse() {
		return 8*(rows+1) + (4+8)*slices.Max(w.Vectors.Entries)
	}
	columns := w.Vectors.Columns
	if f := w.Vectors.Features; f != nil {
		columns = f.Columns
	}
	return 8 * int64(columns) * rows
}

// rowBuildBytes returns the memory for building tiles by rows: the pieces of these tiles and of the next ones, and the
// rows of a tile for each thread, once more if they are converted to other units.
func (w Workload) rowBuildBytes(threads int) int64 {
	copies := int64(1)
	if w.Scaled {
		copies = 2
	}
	return min(2*w.BuildPieces(threads)*PieceBytes, w.DatasetBytes) + copies*int64(max(1, threads))*w.tileDataBytes()
}

// featureRowsBytes returns the memory for computing features by rows, in addition to that of the tiles: the
// landmarks, packed while the receiving buffer grows, and for each thread the landmarks together with the points of a
// tile, as they came and as the kernel needs them, and the projection in bundles.
func (w Workload) featureRowsBytes(threads int) int64 {
	f, rows := w.Vectors.Features, partition.TileRows(w.Vectors.Rows)+w.Vectors.Features.Landmarks
	each := 8*int64(rows)*int64(f.Columns) + kernel.FeatureBytes(rows, f.Columns, f.Landmarks, w.Vectors.Columns)
	return (8+projectionBytes)*int64(f.Landmarks)*int64(f.Columns) + int64(max(1, threads))*each
}

// labelRowBytes is the size of a row of the whole problem in each lane of a worker of a job by rows: its label, and
// the label that arrives, packed while the receiving buffer grows and unpacked.
const labelRowBytes = 4 + 12

// laneBytes returns the memory of some rows of a tile in one lane. A worker of a job by rows gets and returns nothing
// but labels for the rows of others, so what an operation takes for a row belongs to the row's tile.
func (w Workload) laneBytes(rows int) int64 {
	if w.ByRows() {
		return vector.LaneBytes(rows) + (rowOperationBytes-labelRowBytes)*int64(rows)
	}
	return vector.LaneBytes(rows)
}
