package coordinator

import (
	"fmt"
	"slices"
	"sync"
)

// turns lets so many jobs run at once, in the order they came.
type turns struct {
	mu    sync.Mutex
	most  int // that run at once
	free  int
	queue []*job
}

func newTurns(most int) *turns { return &turns{most: most, free: most} }

// enter gives the job its turn, now or when others have left.
func (t *turns) enter(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free == 0 {
		t.queue = append(t.queue, j)
		j.wait(fmt.Sprintf("waiting for its turn: at most %d jobs run at once", t.most))
		return
	}
	t.free--
	close(j.turn)
}

// leave gives a turn back, or the wish for one.
func (t *turns) leave(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.queue, j); at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
		return
	}
	if len(t.queue) > 0 {
		next := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		next.wait("")
		close(next.turn)
		return
	}
	t.free++
}
