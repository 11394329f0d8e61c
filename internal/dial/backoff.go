// Package dial has what clients and workers need to reach the coordinator: the coordinators that may lead, the settings
// of a client, pauses between attempts, and connections within one process.
package dial

import (
	"context"
	"math/rand/v2"
	"time"
)

// BackoffPolicy limits the pauses between repeated attempts. Each pause is about twice as long as the one before, up to
// a limit, and partly random, so that the clients of a server do not all come back at the same moment.
type BackoffPolicy struct {
	First time.Duration // upper limit of the first pause
	Max   time.Duration // upper limit of every pause
}

// Delay returns the pause that follows a number of earlier ones. Its upper limit grows from First to Max by doubling;
// random, from 0 to 1, picks a value in the upper half below that limit.
func (p BackoffPolicy) Delay(before int, random float64) time.Duration {
	longest := p.First
	for ; before > 0 && longest < p.Max; before-- {
		longest = min(2*longest, p.Max)
	}
	return longest/2 + time.Duration(random*float64(longest/2))
}

// Backoff paces one sequence of attempts. It is not safe for concurrent use.
type Backoff struct {
	policy BackoffPolicy
	before int // pauses since the start or the last Reset
}

// NewBackoff returns a Backoff for a new sequence of attempts.
func NewBackoff(p BackoffPolicy) *Backoff { return &Backoff{policy: p} }

// Wait pauses before the next attempt. It returns early, with the context's error, when ctx ends.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Next returns how long to pause before the next attempt, for a caller that pauses by itself.
func (b *Backoff) Next() time.Duration {
	delay := b.policy.Delay(b.before, rand.Float64())
	b.before++
	return delay
}

// Sleep pauses. It returns early, with the context's error, when ctx ends.
func Sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reset makes the next pause as short as the first. Call it when an attempt has reached the server.
func (b *Backoff) Reset() { b.before = 0 }

// Waits returns the number of pauses since the start or the last Reset.
func (b *Backoff) Waits() int { return b.before }
