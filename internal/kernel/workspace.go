package kernel

import (
	"unsafe"

	"github.com/cleave-project/cleave/internal/kernel/hugepage"
	"github.com/cleave-project/cleave/internal/parallel"
)

// workspace is the scratch space of one goroutine, so that work on a tile allocates nothing.
type workspace struct {
	self         []Int128  // contribution to Q_c of the tiles it was used for
	nearest      []float64 // per row of a dense tile
	place        []int32   // per cluster: its index in the current row of a graph plus one; all 0 between rows
	changeCounts []int32   // per row of a graph tile: how many changes it had, or rowRecomputed
	dense        denseWorkspace
	assignment
}

// workspaces lends workspaces for an operation with k clusters.
type workspaces struct {
	parallel.Workspaces[workspace]
	k int
}

// reset starts a sweep with k clusters and clears the results in all workspaces. No workspace may be borrowed. Other
// operations need a sweep before them, so they find workspaces of as many clusters.
func (ws *workspaces) reset(k int) {
	if ws.k != k {
		ws.Idle, ws.k = nil, k
	}
	for _, w := range ws.Idle {
		clear(w.self)
	}
}

func (ws *workspaces) borrow() *workspace {
	w := ws.Borrow()
	if w.self == nil {
		w.self = make([]Int128, ws.k)
		w.place = make([]int32, ws.k)
	}
	return w
}

// resizedAligned is like parallel.Resized, but the slice begins on a cache line, in huge pages if it is large.
func resizedAligned(buffer []float64, length int) []float64 {
	if cap(buffer) >= length {
		return buffer[:length]
	}
	buffer = make([]float64, length+lineValues-1)
	hugepage.Advise(buffer)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(buffer))) / 8 % lineValues
	return buffer[(lineValues-begin)%lineValues:][:length]
}
