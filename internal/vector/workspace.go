package vector

import (
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/labeling"
)

// workspace is what one thread needs while it works on a tile, so that nothing is allocated there.
type workspace struct {
	reader
	sums            []float64 // of the clusters in the tiles it served
	scores          []float64
	lowest, highest [groupRows]float64
	places          places
	farthest        labeling.Candidate // of the tiles it served
	expanded        []float64          // a sparse row with all its zeros
	difference      []float64          // x - mu
	counts          []int32            // points of each cluster in a tile
}

// workspaces are lent to threads for a tile at a time.
type workspaces struct {
	mutex sync.Mutex
	idle  []*workspace
}

func (ws *workspaces) borrow() *workspace {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	if last := len(ws.idle) - 1; last >= 0 {
		w := ws.idle[last]
		ws.idle = ws.idle[:last]
		return w
	}
	return &workspace{}
}

// giveBack is for work that went well: one that failed half way leaves a workspace that is not fit
// for use, and keeps it.
func (ws *workspaces) giveBack(w *workspace) {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	ws.idle = append(ws.idle, w)
}

func (ws *workspaces) bytes() int64 {
	total := 0
	for _, w := range ws.idle {
		total += cap(w.sums) + cap(w.scores) + cap(w.unpacked) + cap(w.expanded) + cap(w.difference)
	}
	return 8 * int64(total)
}

// grown is a buffer of a length, reused where its capacity allows; its contents are any.
func resized[T any](buffer []T, length int) []T {
	return slices.Grow(buffer[:0], length)[:length]
}
