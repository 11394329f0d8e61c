package coordinator

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
)

// downloads limits the memory of objects that calls decode to send them: tables, the ids of rows, and graphs. A call
// holds its object until its client has read all of it, which may take hours. Objects that may be cached share as much
// memory as the caches have. A few larger ones are held at a time, whatever their size.
type downloads struct {
	small, large memoryPool
	largest      int64         // bytes of an object that still belongs to small
	patience     time.Duration // how long a call waits; no download takes longer to send a message
}

// memoryPool is memory that downloads share.
type memoryPool struct {
	free    *semaphore.Weighted
	waiting atomic.Int32 // calls that wait for free
}

// maxLargeDownloads is how many downloads at a time hold an object that is too large for the caches.
const maxLargeDownloads = 2

// fairRate is the number of bytes per second at which a client must read, on average, to keep its memory while others
// wait.
const fairRate = 256 << 10

// newDownloads returns limits for caches of this size. slowReader is how long a download may take to send a message.
func newDownloads(cacheBytes int64, slowReader time.Duration) *downloads {
	return &downloads{
		small: memoryPool{free: semaphore.NewWeighted(cacheBytes)}, largest: cacheBytes / 4,
		large: memoryPool{free: semaphore.NewWeighted(maxLargeDownloads)}, patience: slowReader,
	}
}

// download is the memory that one call holds.
type download struct {
	pool   *memoryPool
	weight int64
	until  time.Time // from then on it makes room for others
}

// begin waits until a call may hold an object of this size. It fails if there is no room for too long, instead of
// keeping the client waiting without a word. The caller calls end when it no longer needs the object.
func (d *downloads) begin(ctx context.Context, bytes uint64) (*download, error) {
	held := &download{pool: &d.small, weight: int64(bytes)}
	if held.weight > d.largest {
		held.pool, held.weight = &d.large, 1
	}
	if held.weight > 0 && !held.pool.free.TryAcquire(held.weight) {
		held.pool.waiting.Add(1)
		defer held.pool.waiting.Add(-1)
		waiting, cancel := context.WithTimeout(ctx, d.patience)
		defer cancel()
		if held.pool.free.Acquire(waiting, held.weight) != nil {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_DOWNLOADS", "other downloads hold the memory that this one needs; try again when they have ended").RetryIn(retryQueue)
		}
	}
	held.until = time.Now().Add(time.Minute + time.Duration(bytes/fairRate)*time.Second)
	return held, nil
}

func (d *download) end() { d.pool.free.Release(d.weight) }

// paced returns a function that sends the messages of a download. It fails if the client has been slow and others
// wait.
func paced[M any](d *download, send func(M) error) func(M) error {
	return func(message M) error {
		if d.pool.waiting.Load() > 0 && time.Now().After(d.until) {
			return fault.New(fault.Unavailable, gate.SlowReader, "the stream was ended because others wait for the memory that it holds; read at least %d KiB per second", fairRate>>10).
				RetryIn(retryQueue)
		}
		return send(message)
	}
}
