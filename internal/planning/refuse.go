package planning

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// DoesNotFit is the reason of the error for a job that does not fit into the workers' memory.
const DoesNotFit = "PLAN_DOES_NOT_FIT"

// maxMoreWorkers bounds the search for how many more workers would suffice.
const maxMoreWorkers = 1_000

// refuse returns an error that says what is needed, what is available, and what would fit.
func (p Workload) refuse(workers []Worker) error {
	needed, free, minFree := int64(0), int64(0), int64(0)
	for tile := range partition.TileCount(p.Rows()) {
		needed = addSaturated(needed, sizeBy(p.StorageRule(), p.TileSize(tile)))
	}
	for _, w := range workers {
		needed = addSaturated(needed, p.on(w).FixedBytes(w.Threads))
		minFree = max(minFree, p.on(w).MinFreeBytes(w.Threads))
		free = addSaturated(free, max(0, w.Free))
	}
	how := "with storage " + p.Storage.String()
	switch {
	case !p.hasMatrix():
		how = "with all points in memory"
	case p.StorageRule() == partition.StoreWhatFits:
		how = "even without storing the matrix"
	}
	f := fault.New(fault.ResourceExhausted, DoesNotFit, "the job does not fit: %s it needs %s for %s in %s of %s, and each worker needs %s free to start; %s are free on %s",
		how, text.Bytes(needed), text.Plural(p.Rows(), "row"), text.Plural(partition.TileCount(p.Rows()), "tile"), text.Bytes(p.minTileBytes()), text.Bytes(minFree),
		text.Bytes(free), text.Plural(len(workers), "worker")).
		With("needed_bytes", fmt.Sprint(needed)).With("offered_bytes", fmt.Sprint(free))
	var remedies []string
	for _, r := range p.remedies(workers) {
		remedies = append(remedies, r.text)
		f = f.With(r.key, fmt.Sprint(r.value))
	}
	if len(remedies) > 0 {
		f.Message += "; what would fit: " + strings.Join(remedies, ", or ")
	}
	return f
}

// remedy is a change that would make a job fit, for people and for programs.
type remedy struct {
	text  string
	key   string
	value any
}

// remedies returns changes, each of which would be enough.
func (p Workload) remedies(workers []Worker) []remedy {
	var remedies []remedy
	if lean := p; p.computable() && p.StorageRule() == partition.StoreAll {
		if lean.Storage = None; lean.fits(workers) {
			remedies = append(remedies, remedy{"storage auto (or none)", "storage", Auto})
		}
	}
	if p.Landmarkable && p.K <= ProposedLandmarks/10 && p.byLandmarks().fits(workers) {
		remedies = append(remedies, remedy{fmt.Sprintf("landmarks %d, for an approximate answer", ProposedLandmarks), "landmarks", ProposedLandmarks})
	}
	if rows := p.maxRows(workers); rows > 0 {
		remedies = append(remedies, remedy{"about " + text.Plural(rows, "row"), "largest_rows", rows})
	}
	if more := p.moreWorkers(workers); more > 0 {
		remedies = append(remedies, remedy{text.Plural(more, "more worker") + " like the largest", "more_workers", more})
	}
	if bytes := p.bytesPerWorker(workers); bytes > 0 {
		remedies = append(remedies, remedy{text.Bytes(bytes) + " on every worker", "bytes_per_worker", bytes})
	}
	return remedies
}

// minTileBytes returns the smallest memory of a full tile that the storage mode allows; if tiles differ, that of the
// largest.
func (p Workload) minTileBytes() int64 {
	size := sizeBy(p.StorageRule(), p.TileSize(0))
	if p.Vectors != nil && p.Vectors.isSparse() {
		for _, other := range p.TileSizes() {
			size = max(size, other.Stored)
		}
	}
	return size
}

func sizeBy(rule partition.StorageRule, size partition.Size) int64 {
	if rule == partition.StoreAll {
		return size.Stored
	}
	return size.Computed
}

// fits reports whether all tiles fit on the workers, counting each as a full tile.
func (p Workload) fits(workers []Worker) bool {
	size, tiles := p.minTileBytes(), int64(partition.TileCount(p.Rows()))
	for _, w := range workers {
		if host := p.on(w).Host("", w.Threads, w.Free, false); host.FreeBytes > 0 {
			tiles -= host.FreeBytes / size
		}
	}
	return tiles <= 0
}

// maxRows returns how many rows of the same kind would fit, rounded down to three digits, or 0 if none would. For
// graphs and sparse points it returns 0, because their memory does not depend on the rows alone.
func (p Workload) maxRows(workers []Worker) int {
	if p.hasMatrix() && p.Matrix.Function == kernel.Adjacency || p.Neighbors != nil && p.Neighbors.Sparse || p.Vectors != nil && p.Vectors.isSparse() {
		return 0
	}
	rows := sort.Search(p.Rows(), func(n int) bool { return !p.withRows(n + 1).fits(workers) })
	unit := 1
	for rows/unit >= 1000 {
		unit *= 10
	}
	return rows / unit * unit
}

// withRows returns the same workload with another number of rows.
func (p Workload) withRows(rows int) Workload {
	p.DatasetBytes = int64(float64(p.DatasetBytes) * float64(rows) / float64(p.Rows()))
	switch {
	case p.Vectors != nil:
		vectors := *p.Vectors
		vectors.Rows = rows
		p.Vectors = &vectors
	case p.Neighbors != nil:
		neighbors := *p.Neighbors
		neighbors.Rows = rows
		p.Neighbors, p.Matrix.Rows = &neighbors, rows
	default:
		p.Matrix.Rows = rows
	}
	return p
}

// moreWorkers returns how many more workers like the largest would be enough, or 0 if no number is.
func (p Workload) moreWorkers(workers []Worker) int {
	if len(workers) == 0 {
		return 0
	}
	largest := slices.MaxFunc(workers, func(a, b Worker) int { return cmp.Compare(a.Free, b.Free) })
	grown := slices.Clone(workers)
	more := sort.Search(maxMoreWorkers, func(more int) bool {
		for len(grown) < len(workers)+more {
			grown = append(grown, largest)
		}
		return p.fits(grown[:len(workers)+more])
	})
	if more == maxMoreWorkers {
		return 0
	}
	return more
}

// bytesPerWorker returns how much memory on each of the workers would be enough, rounded up to whole MiB, or 0 if
// unknown.
func (p Workload) bytesPerWorker(workers []Worker) int64 {
	const unit = 1 << 20
	limit := (p.MinFreeBytes(1)+p.FixedBytes(1))/unit + p.minTileBytes()/unit*int64(partition.TileCount(p.Rows())) + 1<<20
	if len(workers) == 0 || limit < 0 || limit > 1<<40 {
		return 0
	}
	each := slices.Clone(workers)
	needed := sort.Search(int(limit), func(units int) bool {
		for w := range each {
			each[w].Free = max(workers[w].Free, int64(units)*unit)
		}
		return p.fits(each)
	})
	if needed == int(limit) {
		return 0
	}
	return int64(needed) * unit
}
