package kernel

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/hugepage"
)

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
