package planning

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// DoesNotFit is the reason of the error for a job that does not fit into the workers' memory.
const DoesNotFit = "PLAN_DOES_NOT_FIT"

// maxMoreWorkers bounds the search for how many more workers would suffice.
const maxMoreWorkers = 1_000

// refuse returns an error that says what is needed, what is available, and what would fit.
func (w Workload) refuse(workers []Worker) error {
	needed, free, minFree := int64(0), int64(0), int64(0)
	rule := w.StorageRule()
	for _, size := range w.TileSizes() {
		needed = addSaturated(needed, sizeBy(rule, size))
	}
	for _, worker := range workers {
		needed = addSaturated(needed, w.on(worker).FixedBytes(worker.Threads))
		minFree = max(minFree, w.on(worker).MinFreeBytes(worker.Threads))
		free = addSaturated(free, max(0, worker.Free))
	}
	how := "with storage " + w.Storage.String()
	switch {
	case w.Matrix == nil:
		how = "with all points in memory"
	case rule == partition.StoreWhatFits:
		how = "even without storing the matrix"
	}
	f := fault.New(fault.ResourceExhausted, DoesNotFit,
		"the job does not fit: %s it needs %s for %s in %s of %s, and each worker needs %s free to start; %s "+
			"are free on %s",
		how, text.Bytes(needed), text.Plural(w.Rows(), "row"), text.Plural(partition.TileCount(w.Rows()), "tile"),
		text.Bytes(w.minTileBytes()), text.Bytes(minFree),
		text.Bytes(free), text.Plural(len(workers), "worker")).
		With("needed_bytes", fmt.Sprint(needed)).With("offered_bytes", fmt.Sprint(free))
	var remedies []string
	for _, r := range w.remedies(workers) {
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
func (w Workload) remedies(workers []Worker) []remedy {
	var remedies []remedy
	if lean := w; w.computable() && w.StorageRule() == partition.StoreAll {
		lean.Storage = None
		if lean.fits(workers) {
			remedies = append(remedies, remedy{"storage auto (or none)", "storage", Auto})
		}
	}
	if w.landmarkable() && w.byLandmarks().fits(workers) {
		remedies = append(remedies, remedy{fmt.Sprintf("landmarks %d, for an approximate answer", proposedLandmarks),
			"landmarks", proposedLandmarks})
	}
	if more := w.moreWorkers(workers); more > 0 {
		remedies = append(remedies, remedy{text.Plural(more, "more worker") + " like the largest",
			"more_workers", more})
	}
	return remedies
}

// minTileBytes returns the smallest memory of the largest tile that the storage mode allows.
func (w Workload) minTileBytes() int64 {
	largest := int64(0)
	rule := w.StorageRule()
	for _, size := range w.TileSizes() {
		largest = max(largest, sizeBy(rule, size))
	}
	return largest
}

func sizeBy(rule partition.StorageRule, size partition.Size) int64 {
	if rule == partition.StoreAll {
		return size.Stored
	}
	return size.Computed
}

// fits reports whether all tiles fit on the workers, counting each as a full tile.
func (w Workload) fits(workers []Worker) bool {
	size := w.minTileBytes()
	tiles := int64(partition.TileCount(w.Rows()))
	for _, worker := range workers {
		if host := w.on(worker).Host("", worker.Threads, worker.Free, false); host.FreeBytes > 0 {
			tiles -= host.FreeBytes / size
		}
	}
	return tiles <= 0
}

// moreWorkers returns how many more workers like the largest would be enough, or 0 if no number is.
func (w Workload) moreWorkers(workers []Worker) int {
	if len(workers) == 0 {
		return 0
	}
	largest := slices.MaxFunc(workers, func(a, b Worker) int { return cmp.Compare(a.Free, b.Free) })
	grown := slices.Clone(workers)
	more := sort.Search(maxMoreWorkers, func(more int) bool {
		for len(grown) < len(workers)+more {
			grown = append(grown, largest)
		}
		return w.fits(grown[:len(workers)+more])
	})
	if more == maxMoreWorkers {
		return 0
	}
	return more
}
