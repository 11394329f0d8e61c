package vector

import (
	"slices"
	"sync"
)

// workspace is the scratch space of one goroutine, so that work on a tile allocates nothing.
type workspace struct {
	reader
	sums            []float64 // cluster sums over the tiles it was used for
	scores          []float64
	lowest, highest [groupRows]float64
	places          places
	assignments     []assignment // per query
	expanded        []float64    // a sparse row with all its zeros
	difference      []float64    // x - mu
	counts          []int32      // points per cluster in a tile
}

// workspaces is a pool from which goroutines borrow a workspace for one tile.
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

// giveBack returns a workspace after successful work. After a failure its state is undefined, so it must not be
// returned.
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

// resized returns a slice of the given length, reusing the buffer if its capacity suffices. The contents are undefined.
func resized[T any](buffer []T, length int) []T {
	return slices.Grow(buffer[:0], length)[:length]
}
