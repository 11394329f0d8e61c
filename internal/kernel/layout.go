package kernel

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/hugepage"
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

// workspace is the scratch space of one goroutine, so that work on a tile allocates nothing.
type workspace struct {
	self         []Int128             // contribution to Q_c of the tiles it was used for
	farthest     []labeling.Candidate // per lane with stats: farthest point of the tiles it was used for
	nearest      []float64            // per row of a dense tile
	place        []int32              // per cluster: its index in the current row of a graph plus one; all 0 between rows
	changeCounts []int32              // per row of a graph tile: how many changes it had, or rowRecomputed
	window       window               // for dense tiles
	assignment
}

// workspaces is a pool from which goroutines borrow a workspace for one tile.
type workspaces struct {
	mutex sync.Mutex
	idle  []*workspace
	k     int
}

// reset starts an operation with k clusters and clears the results in all workspaces. No workspace may be borrowed.
func (ws *workspaces) reset(k int) {
	if ws.k != k {
		ws.idle, ws.k = nil, k
	}
	for _, w := range ws.idle {
		clear(w.self)
		clear(w.farthest)
	}
}

func (ws *workspaces) borrow() *workspace {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	if last := len(ws.idle) - 1; last >= 0 {
		w := ws.idle[last]
		ws.idle = ws.idle[:last]
		return w
	}
	return &workspace{self: make([]Int128, ws.k), place: make([]int32, ws.k)}
}

// giveBack returns a workspace after successful work. After a failure its state is undefined, so it must not be
// returned.
func (ws *workspaces) giveBack(w *workspace) {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	ws.idle = append(ws.idle, w)
}

// resized returns a slice of the given length, reusing the buffer if its capacity suffices. The contents are undefined.
func resized[T any](buffer []T, length int) []T {
	return slices.Grow(buffer[:0], length)[:length]
}

// resizedAligned is like resized, but the slice begins on a cache line, in huge pages if it is large.
func resizedAligned(buffer []float64, length int) []float64 {
	if cap(buffer) >= length {
		return buffer[:length]
	}
	buffer = make([]float64, length+lineValues-1)
	hugepage.Advise(buffer)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(buffer))) / 8 % lineValues
	return buffer[(lineValues-begin)%lineValues:][:length]
}

// featuresPerPass is the maximum number of features that are multiplied before moving on to the next rows. A group of
// packed rows takes 32 KiB for that many features, and stays in the first-level cache.
const featuresPerPass = 128

// pointsPerPack is the number of points that routines.pack processes at a time.
const pointsPerPack = 8

// packed holds points laid out for multiplyBlock: for each pass of features and each group of `lanes` points, the
// values of the group feature by feature. The last group is padded with points of zeros.
type packed struct {
	lanes, groups, features int
	perPass                 int // features per pass
	values                  []float64
	zeros                   []float32 // stands for a missing point
	points                  [pointsPerPack][]float32
}

// pack lays out count points in groups of lanes, where point maps a position to a row. It reuses the buffers of k.
func (k *packed) pack(r *routines, p *pointSet, lanes, count int, point func(at int) int) {
	k.lanes, k.groups, k.features = lanes, (count+lanes-1)/lanes, p.d
	passes := max(1, (p.d+featuresPerPass-1)/featuresPerPass)
	k.perPass = padded((p.d + passes - 1) / passes) // passes of about equal length, in whole SIMD vectors
	// The routine may write beyond the lanes of a feature, where the next feature's values will go. The last feature
	// needs spare room for that too.
	size := k.groups * lanes * p.d
	k.values = resized(k.values, size+pointsPerPack)[:size]
	if len(k.zeros) < p.d {
		k.zeros = make([]float32, p.d)
	}
	for from := 0; from < p.d; from += k.perPass {
		to := min(from+k.perPass, p.d)
		for group := range k.groups {
			for lane := 0; lane < lanes; lane += pointsPerPack {
				for i := range k.points {
					k.points[i] = k.zeros[from:to]
					if at := group*lanes + lane + i; lane+i < lanes && at < count {
						k.points[i] = p.row(point(at))[from:to]
					}
				}
				r.pack(k.group(from, group)[lane:], lanes, &k.points)
			}
		}
	}
}

// group returns the values of one group in the pass of features that begins at from. They alias k.values.
func (k *packed) group(from, group int) []float64 {
	width := min(k.perPass, k.features-from)
	start := from*k.groups*k.lanes + group*width*k.lanes
	return k.values[start : start+width*k.lanes]
}

// packPortable writes value f of point i to dst[f*lanes+i], for the first lanes points.
func packPortable(dst []float64, lanes int, points *[pointsPerPack][]float32) {
	for i := range min(lanes, pointsPerPack) {
		for f, v := range points[i] {
			dst[f*lanes+i] = float64(v)
		}
	}
}
