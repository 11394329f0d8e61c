package records

import (
	"context"
	"sync"
)

// Hold postpones the deletion of blobs while backups read them. The zero value holds nothing.
type Hold struct {
	mu        sync.Mutex
	backups   int
	deletions int           // in progress
	idle      chan struct{} // closed when the last of them ends; nil if there is none
}

// Begin postpones deletions until end is called, and waits for those in progress. The caller always calls end, also if
// ctx ended first. end reports whether no backup is left, so that the postponed deletions can be made.
func (h *Hold) Begin(ctx context.Context) (end func() (last bool), err error) {
	h.mu.Lock()
	h.backups++
	idle := h.idle
	h.mu.Unlock()
	end = sync.OnceValue(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.backups--
		return h.backups == 0
	})
	if idle == nil {
		return end, nil
	}
	select {
	case <-idle:
		return end, nil
	case <-ctx.Done():
		return end, context.Cause(ctx)
	}
}

// Delete calls a function that deletes blobs, unless a backup has begun. It reports whether it called the function, and
// returns its error.
func (h *Hold) Delete(do func() error) (called bool, err error) {
	h.mu.Lock()
	if h.backups > 0 {
		h.mu.Unlock()
		return false, nil
	}
	if h.deletions++; h.deletions == 1 {
		h.idle = make(chan struct{})
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.deletions--; h.deletions == 0 {
			close(h.idle)
			h.idle = nil
		}
	}()
	return true, do()
}

// Active reports whether a backup has begun.
func (h *Hold) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.backups > 0
}
