package parallel

import (
	"slices"
	"sync"
)

// Workspaces is a list of scratch space. A goroutine borrows a workspace for a piece of work, so that the piece
// allocates nothing. The zero value is an empty list of workspaces that begin as zero values.
type Workspaces[W any] struct {
	New func() *W // makes a workspace; nil for its zero value
	// Idle holds the workspaces that nobody has borrowed. It may be used only while no goroutine is at work.
	Idle  []*W
	mutex sync.Mutex
}

// Borrow returns an idle workspace, or a new one.
func (ws *Workspaces[W]) Borrow() *W {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	if last := len(ws.Idle) - 1; last >= 0 {
		w := ws.Idle[last]
		ws.Idle = ws.Idle[:last]
		return w
	}
	if ws.New != nil {
		return ws.New()
	}
	return new(W)
}

// GiveBack returns a workspace after successful work. After a failure its state is undefined, so it must not be
// returned.
func (ws *Workspaces[W]) GiveBack(w *W) {
	ws.mutex.Lock()
	defer ws.mutex.Unlock()
	ws.Idle = append(ws.Idle, w)
}

// Resized returns a slice of the given length, reusing the buffer if its capacity suffices. The contents are
// undefined.
func Resized[T any](buffer []T, length int) []T {
	return slices.Grow(buffer[:0], length)[:length]
}
