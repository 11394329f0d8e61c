package worker

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/text"
)

// RuntimeBytes is what a worker process may take in addition to the memory that it offers: its code, the Go runtime,
// stacks, messages in transit, and garbage that has not been collected yet.
const RuntimeBytes = 64 << 20

// codeBytes is the part of RuntimeBytes that Go's memory limit does not include: code read from the program file, and
// what the system keeps for the process.
const codeBytes = 24 << 20

// LimitProcess sets Go's memory limit so that the whole process stays within memoryBytes + RuntimeBytes. Without it,
// garbage may grow as large as all tiles before it is collected. It never raises a limit that is already set
// (GOMEMLIMIT). 0 means no limit.
func LimitProcess(memoryBytes uint64) {
	limit := int64(min(memoryBytes, planning.Unlimited)) + RuntimeBytes - codeBytes
	if memoryBytes > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// memory accounts for the memory of a worker: jobs, their tiles, and data sets. Everything large is reserved here
// before it is allocated. The sizes come from package planning.
type memory struct {
	limit   int64               // bytes; 0 means unlimited
	reclaim []func(bytes int64) // each frees cached data, the least valuable first; called without the lock

	// mu guards the fields below.
	mu        sync.Mutex
	used      int64
	releasing int              // jobs that have ended and will free their memory soon
	released  signal.Broadcast // one of them has freed it
}

func newMemory(limit int64) *memory { return &memory{limit: limit} }

// reserve reserves bytes, or fails if there are too few. It waits for jobs that are about to free their memory,
// because the coordinator already counts that memory as free.
func (m *memory) reserve(ctx context.Context, bytes int64, what string) error {
	for {
		released := m.released.Wait()
		taken := m.take(bytes)
		for at := 0; !taken && at < len(m.reclaim); at++ {
			m.reclaim[at](bytes)
			taken = m.take(bytes)
		}
		if taken {
			return nil
		}
		m.mu.Lock()
		used, none := m.used, m.releasing == 0 && m.released.Wait() == released
		m.mu.Unlock()
		if none {
			return fault.New(fault.ResourceExhausted, "NO_MEMORY",
				"no memory for %s: %s needed, %s of the worker's %s taken",
				what, text.Bytes(bytes), text.Bytes(used), text.Bytes(m.limit))
		}
		select {
		case <-released:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take reserves bytes if there are enough, without waiting, and reports whether it did.
func (m *memory) take(bytes int64) bool { return m.takeBelow(m.limit, bytes) }

// takeSpare is take for memory that can be freed at any time. It leaves a quarter of the memory free, so that the
// garbage collector does not run all the time.
func (m *memory) takeSpare(bytes int64) bool { return m.takeBelow(m.limit/4*3, bytes) }

// takeBelow reserves bytes unless more than limit would be used then.
func (m *memory) takeBelow(limit, bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && m.used+bytes > limit {
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

// beginRelease announces that a job will free its memory soon.
func (m *memory) beginRelease() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releasing++
}

// endRelease records that a job has freed its memory.
func (m *memory) endRelease() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releasing--
	m.released.Notify()
}
