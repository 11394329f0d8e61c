package worker

import (
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
)

// memory keeps the books of a worker's memory: tiles of all jobs and data sets.
type memory struct {
	limit int64             // 0: none
	spare func(bytes int64) // frees what is kept only in case; called without the lock

	mu   sync.Mutex
	used int64
}

// reserve takes bytes or says that there are not as many.
func (m *memory) reserve(bytes int64, what string) error {
	if m.take(bytes) {
		return nil
	}
	m.spare(bytes)
	if m.take(bytes) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return fault.New(fault.ResourceExhausted, "NO_MEMORY", "%s need %d bytes; %d of the worker's %d are taken", what, bytes, m.used, m.limit)
}

func (m *memory) take(bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && m.used+bytes > m.limit {
		return false
	}
	m.used += bytes
	return true
}

// charge notes bytes that are taken already, or given back if negative.
func (m *memory) charge(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += bytes
}

func (m *memory) free(bytes int64) { m.charge(-bytes) }
