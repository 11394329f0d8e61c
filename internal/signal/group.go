package signal

import "sync"

// Group is a group of goroutines that must end before what they use is closed. The zero value has none. It is safe for
// concurrent use.
type Group struct {
	mu     sync.Mutex // guards closed, and orders Go before Close
	closed bool
	group  sync.WaitGroup
}

// Go runs a task in a goroutine, unless Close was called.
func (g *Group) Go(task func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.group.Go(task)
	}
}

// Wait waits for the tasks that run.
func (g *Group) Wait() { g.group.Wait() }

// Close prevents further tasks and waits for those that run. It may be called again.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.Wait()
}
