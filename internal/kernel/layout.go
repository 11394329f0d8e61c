package kernel

import (
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// layout is the order in which tiles apply the entries of a plan. The columns are split into blocks; all entries of one
// block come before those of the next, grouped by cluster. A column is thus read, computed or converted once, and is
// still in the second-level cache for its other entries: memory is read once for all lanes.
type layout struct {
	ready  bool
	blocks []block
	runs   []run
	places []int32 // per entry: index of its column in the plan's columns
	starts []int   // scratch: where each block's entries begin
	keys   []int32 // scratch: the entries' keys
}

// block is a range of consecutive columns of a plan, with the runs that read them.
type block struct {
	firstColumn, endColumn int
	firstRun, endRun       int
}

// run is the entries [start, end) of a layout. Their columns leave cluster from and join cluster to; -1 means none.
type run struct {
	from, to   int32
	start, end int
}

// chunking selects how many columns a tile processes at a time.
type chunking int

const (
	wholePlan   chunking = iota // all columns: for stored entries that are read once
	cacheWindow                 // as many columns as fit into the cache: for stored entries that are read several times
	fewColumns                  // columnsPerFill columns: for entries that are computed
	chunkings
)

// A window is a set of columns that stays in the second-level cache until all their entries are applied. Its runs
// should not be short, because each run reads and writes sums. If columns have many entries, as with many lanes, even a
// window larger than the cache pays off: each value read again from memory then serves several entries.
const (
	windowValues      = 1 << 17 // a quarter of the cache, which leaves room for the next window and for sums
	columnsPerRun     = 3       // average run length that a window should reach
	manyEntries       = 4       // entries per column above which runs should be long
	columnsPerLongRun = 6       // average run length to reach with many entries
	maxWindowFactor   = 3       // how many times larger than the cache's share a window may become to reach it
)

// minWindow returns the minimum number of columns of a window.
func (p *plan) minWindow() int { return windowValues / partition.TileRows(p.n) }

// window returns the number of columns of a window, or 0 if windows do not pay off: no column is read twice, or runs
// would be too short.
func (p *plan) window() int {
	entries, columns := len(p.places), len(p.columns)
	if entries == columns {
		return 0
	}
	perRun, largest := columnsPerRun, 1
	if entries >= manyEntries*columns {
		perRun, largest = columnsPerLongRun, maxWindowFactor
	}
	least := p.minWindow()
	size := max(least, perRun*p.distinct*columns/entries)
	if size > largest*least {
		return 0
	}
	return size
}

// blockSize returns the number of columns per block.
func (p *plan) blockSize(c chunking) int {
	switch c {
	case cacheWindow:
		return max(p.minWindow(), p.window())
	case fewColumns:
		return columnsPerFill
	}
	return max(1, len(p.columns))
}

// layout returns the plan's layout for a chunking, computing it on first use. It must not be called concurrently.
func (p *plan) layout(c chunking) *layout {
	l := &p.layouts[c]
	if l.ready {
		return l
	}
	size := p.blockSize(c)
	count := (len(p.columns) + size - 1) / size
	l.starts = parallel.Resized(l.starts, count+1)
	clear(l.starts)
	for _, place := range p.places {
		l.starts[int(place)/size+1]++
	}
	for b := range count {
		l.starts[b+1] += l.starts[b]
	}
	l.places, l.keys = parallel.Resized(l.places, len(p.places)), parallel.Resized(l.keys, len(p.places))
	for entry, place := range p.places {
		at := &l.starts[int(place)/size]
		l.places[*at], l.keys[*at] = place, p.keys[entry]
		*at++
	}
	l.blocks, l.runs = l.blocks[:0], l.runs[:0]
	start := 0
	for b := range count {
		first := len(l.runs)
		l.cutRuns(start, l.starts[b], p) // by now starts[b] is where block b ends
		start = l.starts[b]
		l.blocks = append(l.blocks, block{
			firstColumn: b * size, endColumn: min((b+1)*size, len(p.columns)), firstRun: first, endRun: len(l.runs),
		})
	}
	l.ready = true
	return l
}

// cutRuns appends runs of consecutive entries with the same key.
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
