package planning

import (
	"fmt"
	"reflect"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Matrix describes a matrix whose rows the workers hold, and what is done with it.
type Matrix struct {
	Spec          kernel.MatrixSpec // only its function, size and precision matter
	Products      int               // how many vectors it is multiplied by at a time; 0 means 1
	Block         int               // points in one block of local search; 0 means no local search
	SparseEntries int64             // at most what is added to it: two per constraint, one per row for ratio cut
	Degrees       bool              // the objective needs its row sums
	Shift         bool              // the diagonal shift is found from its least eigenvalue
	Landmarkable  bool              // landmarks could take its place
}

// vectorsPerPass returns how many vectors one reading of the matrix serves. It is 1 for a nil matrix: the coordinator
// multiplies a graph of neighbors itself.
func (m *Matrix) vectorsPerPass() int64 {
	if m == nil {
		return 1
	}
	return int64(max(1, m.Products))
}

// Suffices reports whether what is prepared for w can do the work of other on the matrix, too.
func (w Workload) Suffices(other Workload) bool {
	had, need := w.Matrix, other.Matrix
	return reflect.DeepEqual(had.Spec, need.Spec) && other.K <= w.K && other.Lanes <= w.Lanes &&
		need.Products <= had.Products && need.Block <= had.Block && need.SparseEntries <= had.SparseEntries
}

// Enlarged returns a workload on the matrix of w that suffices for w and, if the matrices are alike, for other.
func (w Workload) Enlarged(other Workload) Workload {
	matrix := *w.Matrix
	matrix.Products = max(matrix.Products, other.Matrix.Products)
	matrix.Block = max(matrix.Block, other.Matrix.Block)
	matrix.SparseEntries = max(matrix.SparseEntries, other.Matrix.SparseEntries)
	w.Matrix = &matrix
	w.K = max(w.K, other.K)
	w.Lanes = max(w.Lanes, other.Lanes)
	return w
}

// matrixJob is a job whose tiles are rows of a matrix: of kernel values, given, or of a graph.
type matrixJob struct{ Workload }

func (w matrixJob) rows() int                   { return w.Matrix.Spec.Rows }
func (w matrixJob) tiles() int                  { return partition.TileCount(w.rows()) }
func (matrixJob) partName() string              { return "the matrix" }
func (matrixJob) snapshotBytes() float64        { return 0 }
func (matrixJob) coordinator() (int64, float64) { return 0, 0 }

func (w matrixJob) storageName(stored, computed bool) string {
	entries := "float32"
	if w.Matrix.Spec.HalfScale != 0 {
		entries = "float16"
	}
	switch {
	case w.OnGraph():
		return "sparse"
	case stored && computed:
		return entries + "+none"
	case computed:
		return "none"
	}
	return entries
}

// productRowBytes is the size of a row of one more vector that the matrix is multiplied by, and of its product, as
// the kernel has them and once more packed.
const productRowBytes = 2 * kernel.ProductRowBytes

// blockValueBytes is the size of a value of a block: as the kernel has it, among those of all lanes, and packed.
const blockValueBytes = 24

// blockBytes returns what the blocks of all lanes take: for each point, a value per cluster and per point.
func (w matrixJob) blockBytes() int64 {
	return w.lanes() * int64(w.Matrix.Block) * int64(w.Matrix.Block+w.K) * blockValueBytes
}

// sparseEntryBytes is the size of one entry of the sparse part: column and value, packed on arrival and unpacked.
const sparseEntryBytes = 24

func (w matrixJob) tileSize(tile int) partition.Size {
	return w.Matrix.Spec.TileSize(tile, w.K, int(w.lanes()))
}

func (w matrixJob) fixedBytes(threads int) int64 {
	m := w.Matrix
	perRow := w.lanes()*rowOperationBytes + (m.vectorsPerPass()-1)*productRowBytes
	fixed := m.Spec.SharedBytes(w.K, w.edges()+m.SparseEntries) + int64(m.Spec.Rows)*perRow +
		m.SparseEntries*sparseEntryBytes + w.blockBytes() +
		int64(max(1, threads))*m.Spec.ThreadBytes(w.K, int(w.lanes()))
	if w.OnGraph() {
		return fixed + w.DatasetBytes
	}
	return fixed + w.TileBuildBytes()
}

func (w matrixJob) edges() int64 {
	return max(0, w.DatasetBytes-8*int64(w.rows())) / 12
}

func (w matrixJob) passes() float64 {
	starts := min(1, float64(w.K)/float64(w.rows())) // a column for each cluster
	rounds := (int64(max(1, w.Restarts)) + w.lanes() - 1) / w.lanes()
	passes := float64(rounds) * (sweepsPerRun + starts)
	if w.labelsFromEigenvectors() {
		passes = 1 // for the objective of the labels
	}
	passes += w.eigenPasses()
	if w.Matrix.Degrees {
		passes++
	}
	if w.Matrix.Shift {
		passes += productsOfShift
	}
	return passes
}

func (w matrixJob) rounds() float64 {
	if w.labelsFromEigenvectors() {
		return 0
	}
	return float64(max(1, w.Restarts) * iterations)
}

func (w matrixJob) work(plan *Plan, share Share, rows float64) float64 {
	n, clusters, products := float64(w.rows()), float64(w.K), float64(w.AssumedProducts())
	if w.OnGraph() {
		clusters = min(clusters, 2+float64(w.edges())/n) // the clusters in which a vertex has neighbors
	}
	work := w.rounds() * rows * clusters * assignEntry
	if w.OnGraph() {
		return work + rows/n*float64(w.edges())*((plan.Passes-w.eigenPasses())*edge+products*productEdge)
	}
	tiles, compute := float64(share.Stored+share.Computed), entryNanoseconds(w.Matrix.Spec)
	stored := rows * n * float64(share.Stored) / tiles
	computed := rows * n * float64(share.Computed) / tiles
	sum := float64(w.lanes()-1)*addEntry*plan.Passes + products*productEntry
	return work + (stored*(compute+plan.Passes*readEntry+sum) + computed*(plan.Passes*compute+sum))
}

func (w matrixJob) pieceWork(rows float64) float64 {
	if w.OnGraph() { // one tile may contain all edges
		return float64(w.edges()) * (graphEntry + edge + float64(w.Matrix.vectorsPerPass())*productEdge)
	}
	return rows * float64(w.rows()) *
		(entryNanoseconds(w.Matrix.Spec) + readEntry + float64(w.lanes())*addEntry +
			float64(w.Matrix.vectorsPerPass())*productEntry)
}

// entryNanoseconds returns the time of one thread to compute one entry.
func entryNanoseconds(m kernel.MatrixSpec) float64 {
	if m.Function == kernel.Given {
		return 8 * fetchByte
	}
	named, ofPoints := catalog.FindKernel(m.Function.String())
	if !ofPoints {
		return graphEntry
	}
	if m.Entries > 0 {
		return named.EntryNanos + sparseProduct*float64(m.Entries)/float64(m.Rows)
	}
	return named.EntryNanos + feature*float64(m.Columns)
}

func (w matrixJob) explain(plan *Plan, offer string) string {
	total := int64(0)
	for _, size := range w.TileSizes() {
		total = addSaturated(total, size.Stored-size.Computed)
	}
	entries := text.Bytes(total)
	slowdown := max(1, entryNanoseconds(w.Matrix.Spec)/readEntry) // of computing an entry, compared with reading it
	switch {
	case w.OnGraph():
		return fmt.Sprintf("a graph is never made dense: every worker with tiles holds all of it (%s); %s",
			text.Bytes(w.DatasetBytes), offer)
	case w.Storage == None && plan.Computed > 0:
		return fmt.Sprintf("no entry is stored, as requested: what would take %s is recomputed on each use, "+
			"about %.0f times slower than reading it", entries, slowdown)
	case plan.Computed == 0:
		return fmt.Sprintf("all of the matrix is stored: it takes %s; %s", entries, offer)
	case plan.Stored == 0:
		return fmt.Sprintf("no tile of %s fits in memory: %s; entries are recomputed on each use, about %.0f times "+
			"slower than reading them",
			text.Bytes(w.EntryBytes(0)), offer, slowdown)
	}
	return fmt.Sprintf("%d of %d tiles fit in memory: the whole matrix takes %s; %s; "+
		"the other tiles are recomputed on each use, about %.0f times slower than reading them",
		plan.Stored, plan.Tiles, entries, offer, slowdown)
}
