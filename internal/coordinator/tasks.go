package coordinator

import "sync"

// tasks are goroutines that must end before the stores are closed. The zero value has none.
type tasks struct {
	mu     sync.Mutex // guards closed, and orders Go before Close
	closed bool
	group  sync.WaitGroup
}

// Go runs a task in a goroutine, unless Close was called.
func (t *tasks) Go(task func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.group.Go(task)
	}
}

// Close prevents further tasks and waits for those that run. It may be called again.
func (t *tasks) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.group.Wait()
}
