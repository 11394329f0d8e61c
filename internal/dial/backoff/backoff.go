// Package backoff paces attempts that are repeated until one succeeds: each pause is about twice as
// long as the one before, up to a limit, and partly random, so that many clients of one server do not
// come back at the same moment.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Policy says how long the pauses are.
type Policy struct {
	First time.Duration // the longest that the first pause may be
	Max   time.Duration // the longest that any pause may be
}

// Delay is the pause after a number of pauses before it. It grows from First to Max by doubling; random,
// from 0 to 1, picks a value in its upper half.
func (p Policy) Delay(before int, random float64) time.Duration {
	longest := p.First
	for range before {
		if longest >= p.Max/2 {
			longest = p.Max
			break
		}
		longest *= 2
	}
	return longest/2 + time.Duration(random*float64(longest/2))
}

// Backoff is the pauses of one sequence of attempts. The zero value is not usable: see New.
type Backoff struct {
	policy Policy
	before int
}

// New starts a sequence of attempts.
func New(p Policy) *Backoff { return &Backoff{policy: p} }

// Wait pauses before the next attempt. It returns early, with the context's error, when ctx ends.
func (b *Backoff) Wait(ctx context.Context) error {
	delay := b.policy.Delay(b.before, rand.Float64())
	b.before++
	return Sleep(ctx, delay)
}

// Sleep pauses for a while. It returns early, with the context's error, when ctx ends.
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

// Reset makes the next pause the first one again. It is for callers that reached the server and then
// lost it.
func (b *Backoff) Reset() { b.before = 0 }

// Waits is the number of pauses since the start or the last Reset.
func (b *Backoff) Waits() int { return b.before }
