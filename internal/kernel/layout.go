package kernel

import "github.com/cleave-project/cleave/internal/partition"

// layout is the order in which tiles of some kind take the entries of a plan: the columns are cut into
// blocks, and all entries of a block come before those of the next, grouped by cluster. So a column
// is read, computed or converted once, and what further entries need of it is in the second-level
// cache; memory is read once for all lanes.
type layout struct {
	ready  bool
	blocks []block
	runs   []run
	places []int32 // of the entries
	starts []int   // per block, a buffer
	keys   []int32 // of the entries, a buffer
}

// block is some consecutive columns of a plan and the runs that read them.
type block struct {
	firstColumn, endColumn int
	firstRun, endRun       int
}

// run is the entries [start, end) of a layout, which leave one cluster and join another; -1: none.
type run struct {
	from, to   int32
	start, end int
}

// pace is how many columns a kind of tile takes at a time.
type chunking int

const (
	wholePlan   chunking = iota // all: entries that are stored, and read once
	cacheWindow                 // as many as a cache holds: entries that are stored, and read several times
	fewColumns                  // few: entries that are computed
	chunkings
)

// A window is columns that stay in the second-level cache until all their entries are done. Its runs
// should not be short: each touches the sums. Where columns have many entries, as with many lanes, a
// window that is too large for the cache still pays: what is read from memory again serves several.
const (
	windowValues      = 1 << 17 // a quarter of the cache, so that there is room for the next window and for sums
	columnsPerRun     = 3       // that a window should have on average
	manyEntries       = 4       // per column
	columnsPerLongRun = 6       // that a window should have where columns have many entries
	maxWindowFactor   = 3       // how many times as large it may be for that
)

// leastWindow is how many columns a window has at least.
func (p *plan) minWindow() int { return windowValues / partition.TileRows(p.n) }

// window is how many columns a window has; 0 where none is worth while: no column is read twice, or
// runs would be short.
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

// blockSize is how many columns a block has at a pace.
func (p *plan) blockSize(c chunking) int {
	switch c {
	case cacheWindow:
		return max(p.minWindow(), p.window())
	case fewColumns:
		return columnsPerFill
	}
	return max(1, len(p.columns))
}

// layout makes the plan's layout for a pace, unless it is there.
func (p *plan) layout(c chunking) *layout {
	l := &p.layouts[c]
	if l.ready {
		return l
	}
	size := p.blockSize(c)
	count := (len(p.columns) + size - 1) / size
	l.starts = resized(l.starts, count+1)
	clear(l.starts)
	for _, place := range p.places {
		l.starts[int(place)/size+1]++
	}
	for b := range count {
		l.starts[b+1] += l.starts[b]
	}
	l.places, l.keys = resized(l.places, len(p.places)), resized(l.keys, len(p.places))
	for entry, place := range p.places {
		at := &l.starts[int(place)/size]
		l.places[*at], l.keys[*at] = place, p.keys[entry]
		*at++
	}
	l.blocks, l.runs = l.blocks[:0], l.runs[:0]
	start := 0
	for b := range count {
		first := len(l.runs)
		l.cutRuns(start, l.starts[b], p) // starts have become ends
		start = l.starts[b]
		l.blocks = append(l.blocks, block{
			firstColumn: b * size, endColumn: min((b+1)*size, len(p.columns)), firstRun: first, endRun: len(l.runs),
		})
	}
	l.ready = true
	return l
}

// cut makes runs of entries with the same key.
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
