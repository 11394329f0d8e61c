package worker

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
)

// RuntimeBytes is what a worker's process may take beside the memory that it offers: its code, the Go
// runtime, stacks, messages on their way, and garbage that waits for the collector.
const RuntimeBytes = 64 << 20

// codeBytes is the part of it that the collector knows nothing of: code that was read from the program
// file, and what the system keeps for the process.
const codeBytes = 24 << 20

// LimitProcess has the collector keep the whole process within the memory that its workers offer and
// RuntimeBytes: without it, garbage may grow to as much as all tiles before it is collected. A lower
// limit that is set already (GOMEMLIMIT) stays.
func LimitProcess(memoryBytes uint64) {
	limit := int64(min(memoryBytes, planning.Unlimited)) + RuntimeBytes - codeBytes
	if memoryBytes > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// memory keeps the books of a worker's memory: jobs, their tiles, and data sets. Everything big is
// reserved here before it is allocated, by the arithmetic of package planning.
type memory struct {
	limit   int64             // 0: none
	reclaim func(bytes int64) // frees what is kept only in case; called without the lock

	mu      sync.Mutex
	used    int64
	leaving int           // jobs that are over and about to free what they hold
	left    chan struct{} // closed, and made anew, when one has
}

func newMemory(limit int64) *memory { return &memory{limit: limit, left: make(chan struct{})} }

// reserve takes bytes or says that there are not as many. It waits for jobs that are on their way out:
// the coordinator has counted on their memory already.
func (m *memory) reserve(ctx context.Context, bytes int64, what string) error {
	for {
		m.mu.Lock()
		used, leaving, left := m.used, m.leaving, m.left
		m.mu.Unlock()
		if m.take(bytes) {
			return nil
		}
		if m.reclaim(bytes); m.take(bytes) {
			return nil
		}
		if leaving == 0 {
			return fault.New(fault.ResourceExhausted, "NO_MEMORY", "no memory for %s: %s needed, %s of the worker's %s taken",
				what, planning.Bytes(bytes), planning.Bytes(used), planning.Bytes(m.limit))
		}
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take takes bytes if there are as many.
func (m *memory) take(bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && m.used+bytes > m.limit {
		return false
	}
	m.used += bytes
	return true
}

func (m *memory) free(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= bytes
}

// expect notes that a job is about to free what it holds.
func (m *memory) expect() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving++
}

// settle notes that it has.
func (m *memory) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving--
	close(m.left)
	m.left = make(chan struct{})
}
