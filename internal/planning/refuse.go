package planning

import (
	"fmt"
	"sort"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// DoesNotFit is the reason of the fault of a job that the workers' memory cannot hold.
const DoesNotFit = "PLAN_DOES_NOT_FIT"

// mostWorkers bounds the search for how many more would do.
const mostWorkers = 1_000

// refuse says what is needed, what there is, and what would fit.
func (p Problem) refuse(workers []Worker) error {
	needed, free, join := int64(0), int64(0), int64(0)
	for tile := range partition.TileCount(p.Matrix.Rows) {
		needed = add(needed, sizeBy(p.Rule(), p.TileSize(tile)))
	}
	for _, w := range workers {
		needed = add(needed, p.SeatBytes(w.Threads))
		join = max(join, p.JoinBytes(w.Threads))
		free = add(free, max(0, w.Free))
	}
	how := "with storage " + p.Storage.String()
	if p.Rule() == partition.StoreWhatFits {
		how = "even without storing the matrix"
	}
	f := fault.New(fault.ResourceExhausted, DoesNotFit, "the job does not fit: %s it needs %s for %s in %s of %s, and %s free on each worker to begin with; %s offered by %s",
		how, Bytes(needed), count(p.Matrix.Rows, "row"), count(partition.TileCount(p.Matrix.Rows), "tile"), Bytes(p.smallest()), Bytes(join),
		Bytes(free), count(len(workers), "worker")).
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

// remedies are the changes of which any one would do.
func (p Problem) remedies(workers []Worker) []remedy {
	var remedies []remedy
	if lean := p; p.computable() && p.Rule() == partition.StoreAll {
		if lean.Storage = None; lean.fits(workers) {
			remedies = append(remedies, remedy{"--storage auto (or none)", "storage", Auto})
		}
	}
	if rows := p.largestRows(workers); rows > 0 {
		remedies = append(remedies, remedy{"about " + count(rows, "row"), "largest_rows", rows})
	}
	if more := p.moreWorkers(workers); more > 0 {
		remedies = append(remedies, remedy{count(more, "more worker") + " like the largest", "more_workers", more})
	}
	if bytes := p.bytesEach(workers); bytes > 0 {
		remedies = append(remedies, remedy{Bytes(bytes) + " on every worker", "bytes_per_worker", bytes})
	}
	return remedies
}

// smallest is the memory of a whole tile in the leanest way that the storage mode allows.
func (p Problem) smallest() int64 { return sizeBy(p.Rule(), p.TileSize(0)) }

func sizeBy(rule partition.Rule, size partition.Size) int64 {
	if rule == partition.StoreAll {
		return size.Stored
	}
	return size.Computed
}

// fits tells whether the workers can hold all tiles, each counted as a whole one.
func (p Problem) fits(workers []Worker) bool {
	size, tiles := p.smallest(), int64(partition.TileCount(p.Matrix.Rows))
	for _, w := range workers {
		if host := p.Host("", w.Threads, w.Free, false); host.Room > 0 {
			tiles -= host.Room / size
		}
	}
	return tiles <= 0
}

// largestRows is how many rows of the same kind would fit, rounded down to three digits; 0: none. Of
// a graph it is not the rows that count.
func (p Problem) largestRows(workers []Worker) int {
	if p.Matrix.Function == kernel.Adjacency {
		return 0
	}
	rows := sort.Search(p.Matrix.Rows, func(n int) bool {
		fewer := p
		fewer.Matrix.Rows = n + 1
		fewer.DatasetBytes = int64(float64(p.DatasetBytes) * float64(n+1) / float64(p.Matrix.Rows))
		return !fewer.fits(workers)
	})
	unit := 1
	for rows/unit >= 1000 {
		unit *= 10
	}
	return rows / unit * unit
}

// moreWorkers is how many more workers like the largest would do; 0: any number is too few.
func (p Problem) moreWorkers(workers []Worker) int {
	if len(workers) == 0 {
		return 0
	}
	largest := workers[0]
	for _, w := range workers {
		if w.Free > largest.Free {
			largest = w
		}
	}
	grown := append([]Worker(nil), workers...)
	more := sort.Search(mostWorkers, func(more int) bool {
		for len(grown) < len(workers)+more {
			grown = append(grown, largest)
		}
		return p.fits(grown[:len(workers)+more])
	})
	if more == mostWorkers {
		return 0
	}
	return more
}

// bytesEach is how much memory on each of the workers would do, rounded up to whole MiB.
func (p Problem) bytesEach(workers []Worker) int64 {
	const unit = 1 << 20
	most := (p.JoinBytes(1)+p.SeatBytes(1))/unit + p.smallest()/unit*int64(partition.TileCount(p.Matrix.Rows)) + 1<<20
	if len(workers) == 0 || most < 0 || most > 1<<40 {
		return 0
	}
	each := append([]Worker(nil), workers...)
	needed := sort.Search(int(most), func(units int) bool {
		for w := range each {
			each[w].Free = max(workers[w].Free, int64(units)*unit)
		}
		return p.fits(each)
	})
	if needed == int(most) {
		return 0
	}
	return int64(needed) * unit
}
