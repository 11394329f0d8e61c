package planning

import (
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Vectors describes the points of a k-means-family job.
type Vectors struct {
	Rows, Columns int
	Width         int       // values of a row, and of a cluster's sums: the columns, plus one with a background
	FullMetric    bool      // models have a matrix over all pairs of columns
	Entries       []int64   // entries of each tile of sparse points; nil for dense points
	Features      *Features // how rows are computed; nil if they are the points themselves
	RaceRows      int       // rows that starts race on, on the coordinator; 0 if all starts use all rows
	JointBytes    int64     // what each lane takes on the coordinator to assign constrained points jointly
}

// TileEntries returns how many entries each tile of sparse points has, or nil for other data.
func TileEntries(data dataset.Dataset) []int64 {
	points, sparse := data.(*dataset.SparsePoints)
	if !sparse {
		return nil
	}
	entries := make([]int64, partition.TileCount(points.N))
	for tile := range entries {
		rows := partition.Tile(points.N, tile)
		entries[tile] = points.RowStart[rows.To] - points.RowStart[rows.From]
	}
	return entries
}

// entries returns the number of entries of all tiles of sparse points.
func (v *Vectors) entries() (total int64) {
	for _, entries := range v.Entries {
		total += entries
	}
	return total
}

func (v *Vectors) isSparse() bool { return v.Entries != nil }

// vectorJob is a job of the k-means family, whose tiles are points or features of them.
type vectorJob struct{ Workload }

func (w vectorJob) rows() int       { return w.Vectors.Rows }
func (w vectorJob) tiles() int      { return partition.TileCount(w.rows()) }
func (w vectorJob) rounds() float64 { return float64(max(1, w.Restarts) * iterations) }

func (w vectorJob) partName() string {
	if w.Scaled {
		return "the points in other units"
	}
	return "the points as they are"
}

func (w vectorJob) storageName(bool, bool) string {
	if w.Vectors.isSparse() {
		return "sparse vectors"
	}
	return "vectors"
}

// snapshotBytes returns the size of the models of all lanes, and of the best finished restart.
func (w vectorJob) snapshotBytes() float64 {
	return float64(w.lanes()+1) * 8 * (float64(w.K)*float64(w.Vectors.Width) + float64(w.Vectors.scatter()))
}

// tileSize returns the memory of one tile: float64 values, of all columns or of the entries alone, and what its
// rows take in each lane. All tiles are stored.
func (w vectorJob) tileSize(tile int) partition.Size {
	v := w.Vectors
	rows := partition.Tile(v.Rows, tile).Len()
	ofLanes := w.lanes() * w.laneBytes(rows)
	values := vector.DenseTileBytes(rows, v.Width)
	if v.isSparse() {
		values = vector.SparseTileBytes(rows, v.Entries[tile], v.Width > v.Columns)
		if w.ByRows() {
			values += vector.ColumnBytes(v.Entries[tile])
		}
	}
	return partition.Size{Stored: values + ofLanes, Computed: ofLanes}
}

// answerBytes limits the answer to a command that could have any number of values, on a worker and on the
// coordinator. Longer answers are requested with several commands.
const answerBytes = 64 << 20

// MaxPointsPerRequest returns for how many points, over all its queries, one command may ask for the distances to all
// clusters.
func (w Workload) MaxPointsPerRequest() int { return max(1, answerBytes/(8*w.K)) }

// MaxTilesPerRequest returns for how many tiles one command may ask for their scatter in all lanes.
func (w Workload) MaxTilesPerRequest() int {
	return int(max(1, answerBytes/(8*w.lanes()*w.Vectors.scatter())))
}

// scatter returns the maximum number of values of a tile's scatter.
func (v *Vectors) scatter() int64 {
	if v.FullMetric {
		return int64(v.Columns) * int64(v.Columns)
	}
	return int64(v.Columns)
}

// Sizes in bytes of what the model of a lane takes. modelValueBytes, per value of a centroid or of the matrix: the
// previous model (8), and the one that arrives, packed while the receiving buffer grows, and unpacked (24).
// modelClusterBytes: a cluster's biases, positions and counts. modelColumnBytes: a column's mean, grid and rounding
// constant, packed and unpacked. changeBytes: a change of a cluster's sums, unpacked, packed, and in the message
// being sent while the next one is made.
const (
	modelValueBytes   = 32
	modelClusterBytes = 64
	modelColumnBytes  = 64
	changeBytes       = 24
	// A value of the projection, packed while the receiving buffer grows.
	projectionBytes = 16
)

// maxValues is more than fits into any worker's memory, and small enough that nothing here overflows.
const maxValues = 1 << 44

// fixedBytes returns a worker's memory for a k-means-family job in addition to its tiles: the data set, or the
// part from which some tiles are built; labels, operands and answers for the rows, and the model, of each lane; and
// what its threads work with.
func (w vectorJob) fixedBytes(threads int) int64 {
	v := w.Vectors
	n, d, width, k := int64(v.Rows), int64(v.Columns), int64(v.Width), int64(w.K)
	padded := vector.PaddedClusters(w.K)
	if padded*width > maxValues {
		return Unlimited
	}
	data, perRow := w.DatasetBytes, int64(rowOperationBytes)
	if w.ByRows() {
		data = w.rowBuildBytes(threads)
		perRow = labelRowBytes
	}
	lane := n*perRow + (modelValueBytes+changeBytes)*padded*width + vector.WeightBytes(w.K, v.Width) +
		modelClusterBytes*padded
	if v.FullMetric {
		lane += (modelValueBytes + 8) * d * d
	}
	fixed := data + w.lanes()*lane + modelColumnBytes*width +
		int64(max(1, threads))*vector.ThreadBytes(w.K, v.Width, v.isSparse())
	if f := v.Features; f != nil {
		points := kernel.FeatureBytes(v.Rows, f.Columns, f.Landmarks, v.Columns)
		if w.ByRows() {
			points = w.featureRowsBytes(threads)
		}
		fixed += points + projectionBytes*int64(f.Landmarks)*width +
			int64(max(1, threads))*kernel.FeatureThreadBytes(f.Columns, v.Columns)
	}
	tiles := int64(partition.TileCount(v.Rows))
	answer := max(8*k*min(w.lanes()*n, int64(w.MaxPointsPerRequest())),
		8*w.lanes()*v.scatter()*min(tiles, int64(w.MaxTilesPerRequest())))
	return fixed + 2*answer // twice, because it is also packed
}

func (w vectorJob) explain(plan *Plan, offer string) string {
	what := "all points are stored as float64"
	if f := w.Vectors.Features; f != nil {
		what = fmt.Sprintf("each point is stored as %s in float64, computed from its kernel values with %s",
			text.Plural(w.Vectors.Columns, "feature"), text.Plural(f.Landmarks, "landmark"))
	}
	if w.Vectors.isSparse() {
		what = "points stay sparse: their entries are stored as float64"
	}
	data := "every worker with tiles also holds the whole data set"
	if w.ByRows() {
		data = "every worker fetches the rows of its own tiles from the data set"
	}
	return fmt.Sprintf("%s, in %s over all workers; %s (%s); %s",
		what, text.Bytes(plan.EntryBytes), data, text.Bytes(w.DatasetBytes), offer)
}

// visits is how many passes an iteration makes over all points in addition to the assignment: for the sums, and for
// the objective before and after them.
const visits = 3

// passes counts one of each start for each cluster.
func (w vectorJob) passes() float64 {
	return float64(max(1, w.Restarts)) * float64(iterations*(1+visits)+w.K)
}

// pieceWork is the work of a whole run, which is more than enough.
func (w vectorJob) pieceWork(rows float64) float64 {
	return float64(w.lanes()) * (w.runWork(rows) + w.Vectors.featureWork(rows))
}

func (w vectorJob) work(_ *Plan, _ Share, rows float64) float64 {
	return float64(max(1, w.Restarts))*w.runWork(rows) + w.Vectors.featureWork(rows)
}

// runWork returns the work of one run.
func (w vectorJob) runWork(rows float64) float64 {
	v := w.Vectors
	values, score, visit := rows*float64(v.Width), scoreValue, visitValue
	if v.isSparse() {
		values = rows / float64(v.Rows) * float64(v.entries())
		score = sparseValue
		visit = sparseValue
	}
	run := iterations*(values*float64(w.K)*score+visits*values*visit) + values*float64(w.K)*visit
	if v.FullMetric {
		run += iterations * rows * float64(v.scatter()) * (1 + float64(w.K)) * visitValue
	}
	return run
}

func (w vectorJob) coordinator() (bytes int64, work float64) {
	joint := min(levelGarbage*float64(w.lanes())*float64(w.Vectors.JointBytes), Unlimited)
	return max(w.landmarkBytes(), w.raceBytes(), int64(joint)), w.landmarkWork() + w.raceWork()
}

// raceBytes returns the coordinator's memory for the sample that starts race on: its rows in the data set, in tiles
// and as they are exchanged, and what each lane keeps of them.
func (w vectorJob) raceBytes() int64 {
	v := w.Vectors
	if v.RaceRows == 0 {
		return 0
	}
	rows := int64(v.RaceRows)
	values := 3 * 8 * rows * int64(v.Width)
	if v.isSparse() {
		values = int64(2 * 12 * float64(v.entries()) * float64(rows) / float64(v.Rows))
	}
	return gcFactor * (values + vector.MaxLanes*(vector.LaneBytes(v.RaceRows)+rows*rowOperationBytes))
}

// raceStarts is how many starts race, with about eight exchanges of the best.
const raceStarts = clustering.DefaultRestarts + 8

// raceWork returns the coordinator's time for the race in nanoseconds.
func (w vectorJob) raceWork() float64 {
	v := w.Vectors
	if v.RaceRows == 0 {
		return 0
	}
	of := *v
	of.RaceRows, of.Features = 0, nil
	run := vectorJob{Workload{Vectors: &of, K: w.K}}
	return raceStarts * run.runWork(float64(v.RaceRows))
}

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
	rows := int64(max(1, threads)) * w.tileDataBytes()
	places := int64(1)
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
