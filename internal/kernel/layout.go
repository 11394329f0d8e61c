package kernel

import (
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// layout is the order in which tiles apply the transfers of a plan. The columns are split into windows; all transfers
// of one window come before those of the next, grouped by cluster. A column is thus read, computed or converted once,
// and is still in the second-level cache for its other transfers: memory is read once for all lanes.
type layout struct {
	ready   bool
	windows []window
	runs    []run
	places  []int32 // per transfer: index of its column in the plan's columns
	starts  []int   // scratch: where each window's transfers begin
	keys    []int32 // scratch: the transfers' keys
}

// window is a range of consecutive columns of a plan, with the runs that read them.
type window struct {
	firstColumn, endColumn int
	firstRun, endRun       int
}

// run is the transfers [start, end) of a layout. Their columns leave cluster from and join cluster to; -1 means none.
type run struct {
	from, to   int32
	start, end int
}

// windowing selects how many columns a window has.
type windowing int

const (
	wholePlan  windowing = iota // all columns: for stored entries that are read once
	cacheSized                  // as many columns as fit into the cache: for stored entries that are read several times
	fewColumns                  // columnsPerFill columns: for entries that are computed
	windowings
)

// A window of stored entries stays in the second-level cache until all its transfers are applied. Its runs should not
// be short, because each run reads and writes sums. If columns have many transfers, as with many lanes, even a window
// larger than the cache pays off: each value read again from memory then serves several transfers.
const (
	windowValues      = 1 << 17 // a quarter of the cache, which leaves room for the next window and for sums
	columnsPerRun     = 3       // average run length that a window should reach
	manyTransfers     = 4       // transfers per column above which runs should be long
	columnsPerLongRun = 6       // average run length to reach with many transfers
	maxWindowFactor   = 3       // how many times larger than the cache's share a window may become to reach it
)

// leastWindow returns the minimum number of columns of a window.
func (p *plan) leastWindow() int { return windowValues / partition.TileRows(p.n) }

// windowSize returns the number of columns of a window of stored entries, or 0 if windows do not pay off: no column is
// read twice, or runs would be too short.
func (p *plan) windowSize() int {
	transfers, columns := len(p.places), len(p.columns)
	if transfers == columns {
		return 0
	}
	perRun, largest := columnsPerRun, 1
	if transfers >= manyTransfers*columns {
		perRun, largest = columnsPerLongRun, maxWindowFactor
	}
	least := p.leastWindow()
	size := max(least, perRun*p.distinct*columns/transfers)
	if size > largest*least {
		return 0
	}
	return size
}

// columnsPerWindow returns the number of columns per window.
func (p *plan) columnsPerWindow(w windowing) int {
	switch w {
	case cacheSized:
		return max(p.leastWindow(), p.windowSize())
	case fewColumns:
		return columnsPerFill
	}
	return max(1, len(p.columns))
}

// layout returns the plan's layout for a windowing, computing it on first use. It must not be called concurrently.
func (p *plan) layout(w windowing) *layout {
	l := &p.layouts[w]
	if l.ready {
		return l
	}
	size := p.columnsPerWindow(w)
	count := (len(p.columns) + size - 1) / size
	l.starts = parallel.Resized(l.starts, count+1)
	clear(l.starts)
	for _, place := range p.places {
		l.starts[int(place)/size+1]++
	}
	for b := range count {
		l.starts[b+1] += l.starts[b]
	}
	l.places = parallel.Resized(l.places, len(p.places))
	l.keys = parallel.Resized(l.keys, len(p.places))
	for transfer, place := range p.places {
		at := &l.starts[int(place)/size]
		l.places[*at] = place
		l.keys[*at] = p.keys[transfer]
		*at++
	}
	l.windows = l.windows[:0]
	l.runs = l.runs[:0]
	start := 0
	for b := range count {
		first := len(l.runs)
		l.cutRuns(start, l.starts[b], p) // by now starts[b] is where window b ends
		start = l.starts[b]
		l.windows = append(l.windows, window{
			firstColumn: b * size, endColumn: min((b+1)*size, len(p.columns)), firstRun: first, endRun: len(l.runs),
		})
	}
	l.ready = true
	return l
}

// cutRuns appends runs of consecutive transfers with the same key.
func (l *layout) cutRuns(from, to int, p *plan) {
	for at := from; at < to; at++ {
		if key := l.keys[at]; at == from || key != l.keys[at-1] {
			r := run{start: at}
			r.from, r.to = p.clustersOf(key)
			l.runs = append(l.runs, r)
		}
		l.runs[len(l.runs)-1].end = at + 1
	}
}
