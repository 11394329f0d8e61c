package kernel

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/cleave-project/cleave/internal/hugepage"
	"github.com/cleave-project/cleave/internal/labeling"
)

// workspace is what one thread needs while it works on a tile, so that nothing is allocated there.
type workspace struct {
	self         []Int128             // the share of Q_c of the tiles it served
	farthest     []labeling.Candidate // per lane asked about, the farthest point of the tiles it served
	nearest      []float64            // per row of a dense tile
	place        []int32              // per cluster: one more than its place in the row of a graph; 0 between rows
	changeCounts []int32              // per row of a graph tile: how many changes it had, or madeAnew
	window       window               // of a dense tile
	assignment
}

// workspaces are lent to threads for a tile at a time.
type workspaces struct {
	mutex sync.Mutex
	idle  []*workspace
	k     int
}

// reset begins an operation: nothing is summed up yet.
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

// giveBack is for work that went well: one that failed half way leaves a workspace that is not fit
// for use, and keeps it.
func (ws *workspaces) giveBack(w *workspace) {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	ws.idle = append(ws.idle, w)
}

// grown is a buffer of a length, reused where its capacity allows; its contents are any.
func resized[T any](buffer []T, length int) []T {
	return slices.Grow(buffer[:0], length)[:length]
}

// grownLines is a buffer of a length that begins with a line of the caches, in large pages where it is
// large.
func resizedAligned(buffer []float64, length int) []float64 {
	if cap(buffer) >= length {
		return buffer[:length]
	}
	buffer = make([]float64, length+lineValues-1)
	hugepage.Advise(buffer)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(buffer))) / 8 % lineValues
	return buffer[(lineValues-begin)%lineValues:][:length]
}
