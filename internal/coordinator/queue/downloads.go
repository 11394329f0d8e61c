package queue

import (
	"context"
	"math"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// DownloadMemory is the memory that calls hold while they send tables, row IDs, graphs or predictions. A call holds its
// memory until its client has read everything, which may take hours. Objects small enough for the caches have a part
// of their own, so that they do not wait for larger ones. It is safe for concurrent use.
type DownloadMemory struct {
	small, large *Share
	maxWait      time.Duration
}

// fairRate is the number of bytes per second at which a client must read, on average, to keep its memory while others
// wait.
const fairRate = 256 << 10

// SlowReader is the reason of the error that ends a stream whose client reads too slowly or not at all.
const SlowReader = "SLOW_READER"

// NewDownloadMemory returns the memory of downloads. Objects of at most a quarter of small's own bytes are in small,
// others in large. A call waits for at most maxWait.
func NewDownloadMemory(small, large *Share, maxWait time.Duration) *DownloadMemory {
	return &DownloadMemory{small: small, large: large, maxWait: maxWait}
}

// Download is the memory that one call holds.
type Download struct {
	share  *Share
	memory *Reservation
	bytes  uint64
}

// Begin waits until a call may hold an object of this size. It fails with TOO_MANY_DOWNLOADS if there is no room in
// time. The caller calls End when it no longer needs the object.
func (m *DownloadMemory) Begin(ctx context.Context, bytes uint64) (*Download, error) {
	share, size := m.shareOf(bytes)
	memory, err := share.Reserve(ctx, size, m.maxWait)
	if fault.Is(err, TooManyCalls) {
		err = fault.New(fault.ResourceExhausted, "TOO_MANY_DOWNLOADS",
			"jobs and other downloads hold the memory that this one needs; try again when they have ended").RetryIn(
			RetryDelay)
	}
	if err != nil {
		return nil, err
	}
	return &Download{share: share, memory: memory, bytes: bytes}, nil
}

// BeginMore is Begin for a call that holds other memory of the coordinator. It passes those who may wait for that.
func (m *DownloadMemory) BeginMore(ctx context.Context, bytes uint64) (*Download, error) {
	share, size := m.shareOf(bytes)
	if memory, free := share.ReserveNow(size); free {
		return &Download{share: share, memory: memory, bytes: bytes}, nil
	}
	return m.Begin(ctx, bytes)
}

// shareOf returns the share of an object, and its size there.
func (m *DownloadMemory) shareOf(bytes uint64) (share *Share, size int64) {
	size = int64(min(bytes, math.MaxInt64))
	if size > m.small.Own()/4 {
		return m.large, size
	}
	return m.small, size
}

// End gives the memory back.
func (d *Download) End() { d.memory.Release() }

// Paced returns a function that sends the messages of a download from now on. It fails if the client has been slow and
// others wait.
func Paced[M any](d *Download, send func(M) error) func(M) error {
	until := time.Now().Add(time.Minute + time.Duration(d.bytes/fairRate)*time.Second)
	return func(message M) error {
		if time.Now().After(until) && d.share.Contended() {
			return fault.New(fault.Unavailable, SlowReader,
				"the stream was ended because others wait for the memory that it holds; read at least %d KiB "+
					"per second", fairRate>>10).
				RetryIn(RetryDelay)
		}
		return send(message)
	}
}
