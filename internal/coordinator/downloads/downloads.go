// Package downloads limits the memory that calls hold while they send tables, row IDs, graphs or predictions. A call
// holds its memory until its client has read everything, which may take hours.
package downloads

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
)

// Memory is the memory of all downloads. Objects that may be cached share as much of it as the caches have. At most
// MaxLarge larger objects are held at once, regardless of size. It is safe for concurrent use.
type Memory struct {
	small, large pool
	largest      int64 // bytes of an object that still belongs to small
	maxWait      time.Duration
}

// pool is memory that downloads share.
type pool struct {
	free    *semaphore.Weighted
	waiting atomic.Int32 // calls that wait for free
}

// MaxLarge is how many downloads at a time hold an object that is too large for the caches.
const MaxLarge = 2

// fairRate is the number of bytes per second at which a client must read, on average, to keep its memory while others
// wait.
const fairRate = 256 << 10

// retrySeconds is how long a client that was refused should wait.
const retrySeconds = 5

// NewMemory returns the memory of downloads beside caches of this size. A call waits for maxWait at most.
func NewMemory(cacheBytes int64, maxWait time.Duration) *Memory {
	return &Memory{
		small: pool{free: semaphore.NewWeighted(cacheBytes)}, largest: cacheBytes / 4,
		large: pool{free: semaphore.NewWeighted(MaxLarge)}, maxWait: maxWait,
	}
}

// Download is the memory that one call holds.
type Download struct {
	pool   *pool
	weight int64
	bytes  uint64
}

// Begin waits until a call may hold an object of this size. If there is no room for maxWait, it fails with
// TOO_MANY_DOWNLOADS, so that the client can retry. The caller calls End when it no longer needs the object.
func (m *Memory) Begin(ctx context.Context, bytes uint64) (*Download, error) {
	held := &Download{pool: &m.small, weight: int64(bytes), bytes: bytes}
	if held.weight > m.largest {
		held.pool, held.weight = &m.large, 1
	}
	if held.weight > 0 && !held.pool.free.TryAcquire(held.weight) {
		held.pool.waiting.Add(1)
		defer held.pool.waiting.Add(-1)
		waiting, cancel := context.WithTimeout(ctx, m.maxWait)
		defer cancel()
		if held.pool.free.Acquire(waiting, held.weight) != nil {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_DOWNLOADS", "other downloads hold the memory that this one needs; try again when they have ended").RetryIn(retrySeconds)
		}
	}
	return held, nil
}

// End gives the memory back.
func (d *Download) End() { d.pool.free.Release(d.weight) }

// Paced returns a function that sends the messages of a download from now on. It fails if the client has been slow and
// others wait.
func Paced[M any](d *Download, send func(M) error) func(M) error {
	until := time.Now().Add(time.Minute + time.Duration(d.bytes/fairRate)*time.Second)
	return func(message M) error {
		if d.pool.waiting.Load() > 0 && time.Now().After(until) {
			return fault.New(fault.Unavailable, gate.SlowReader, "the stream was ended because others wait for the memory that it holds; read at least %d KiB per second", fairRate>>10).
				RetryIn(retrySeconds)
		}
		return send(message)
	}
}
