package backup

import "sync"

// Hold postpones the deletion of blobs while backups read them. The zero value holds nothing.
type Hold struct {
	mu      sync.RWMutex
	backups int
}

// Begin waits for deletions in progress and postpones all others until end is called. end reports whether no backup
// is left, so that the postponed deletions can be made.
func (h *Hold) Begin() (end func() (last bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.backups++
	return sync.OnceValue(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.backups--
		return h.backups == 0
	})
}

// Delete calls a function that deletes blobs, unless a backup is in progress. No backup begins before the function
// returns. It reports whether it called the function, and returns its error.
func (h *Hold) Delete(do func() error) (called bool, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.backups > 0 {
		return false, nil
	}
	return true, do()
}

// Active reports whether a backup is in progress.
func (h *Hold) Active() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.backups > 0
}
