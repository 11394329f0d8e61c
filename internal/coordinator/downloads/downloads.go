// Package downloads limits the memory that calls hold while they send tables, row IDs, graphs or predictions. A call
// holds its memory until its client has read everything, which may take hours.
package downloads

import (
	"context"
	"math"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/ledger"
	"github.com/cleave-project/cleave/internal/fault"
)

// Memory is the memory of all downloads. Objects that may be cached have a part for themselves, so that they do not
// wait for larger ones. It is safe for concurrent use.
type Memory struct {
	small, large *ledger.Part
	maxWait      time.Duration
}

// fairRate is the number of bytes per second at which a client must read, on average, to keep its memory while others
// wait.
const fairRate = 256 << 10

// retrySeconds is how long a client that was refused should wait.
const retrySeconds = 5

// NewMemory returns the memory of downloads. Objects of at most a quarter of the bytes that small has of its own belong
// to small, others to large. A call waits for maxWait at most.
func NewMemory(small, large *ledger.Part, maxWait time.Duration) *Memory {
	return &Memory{small: small, large: large, maxWait: maxWait}
}

// Download is the memory that one call holds.
type Download struct {
	part  *ledger.Part
	claim *ledger.Claim
	bytes uint64
}

// Begin waits until a call may hold an object of this size. If there is no room for maxWait, it fails with
// TOO_MANY_DOWNLOADS, so that the client can retry. The caller calls End when it no longer needs the object.
func (m *Memory) Begin(ctx context.Context, bytes uint64) (*Download, error) {
	part, size := m.small, int64(min(bytes, math.MaxInt64))
	if size > part.Own()/4 {
		part = m.large
	}
	waiting, cancel := context.WithTimeout(ctx, m.maxWait)
	defer cancel()
	claim, err := part.Reserve(waiting, size)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_DOWNLOADS", "jobs and other downloads hold the memory that this one needs; try again when they have ended").RetryIn(retrySeconds)
	}
	return &Download{part: part, claim: claim, bytes: bytes}, nil
}

// End gives the memory back.
func (d *Download) End() { d.claim.Release() }

// Paced returns a function that sends the messages of a download from now on. It fails if the client has been slow and
// others wait.
func Paced[M any](d *Download, send func(M) error) func(M) error {
	until := time.Now().Add(time.Minute + time.Duration(d.bytes/fairRate)*time.Second)
	return func(message M) error {
		if time.Now().After(until) && d.part.Contended() {
			return fault.New(fault.Unavailable, gate.SlowReader, "the stream was ended because others wait for the memory that it holds; read at least %d KiB per second", fairRate>>10).
				RetryIn(retrySeconds)
		}
		return send(message)
	}
}
