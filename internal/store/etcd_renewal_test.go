package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A term with a lease of 6 seconds, which a member renews as each case says. The term ends when it must, and not
// before.
func TestLeaseIsKept(t *testing.T) {
	const lease = 6
	begin := time.Time{}
	answerIn := func(ctx context.Context, delay time.Duration, ttl int64) (int64, error) {
		select {
		case <-time.After(delay):
			return ttl, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for name, c := range map[string]struct {
		ask         func(ctx context.Context, since time.Duration) (ttl int64, err error)
		least, most time.Duration // when the term ends; 0: it does not end by itself
	}{
		"answers take half a lease": {ask: func(ctx context.Context, _ time.Duration) (int64, error) {
			return answerIn(ctx, 3*time.Second, lease)
		}},
		"answers take most of a lease": {ask: func(ctx context.Context, _ time.Duration) (int64, error) {
			return answerIn(ctx, 5500*time.Millisecond, lease)
		}},
		"every third request hangs": {ask: func(ctx context.Context, since time.Duration) (int64, error) {
			if since/time.Second%3 == 0 {
				return answerIn(ctx, time.Hour, lease)
			}
			return answerIn(ctx, 2*time.Second, lease)
		}},
		"the store is silent for longer than the lease, which lives on": {
			ask: func(ctx context.Context, since time.Duration) (int64, error) {
				if since < 8*time.Second {
					return answerIn(ctx, 8*time.Second-since, lease)
				}
				return lease, nil
			}},
		"the store cannot be reached for a while": {ask: func(_ context.Context, since time.Duration) (int64, error) {
			if since > 30*time.Second && since < 38*time.Second {
				return 0, errors.New("connection refused")
			}
			return lease, nil
		}},
		"the lease is gone": {least: 10 * time.Second, most: 11 * time.Second,
			ask: func(_ context.Context, since time.Duration) (int64, error) {
				if since < 10*time.Second {
					return lease, nil
				}
				return 0, nil
			}},
		"the lease is gone when the store answers again": {least: 8 * time.Second, most: 8 * time.Second,
			ask: func(ctx context.Context, since time.Duration) (int64, error) {
				return answerIn(ctx, 8*time.Second-since, 0)
			}},
		"the store is silent": {least: 9 * time.Second, most: 11 * time.Second,
			ask: func(ctx context.Context, _ time.Duration) (int64, error) { return answerIn(ctx, time.Hour, lease) }},
		"the store does not exist": {least: 9 * time.Second, most: 10 * time.Second,
			ask: func(context.Context, time.Duration) (int64, error) { return 0, errors.New("connection refused") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin = time.Now()
				term := &etcdTerm{state: &etcdState{lease: lease}, lost: make(chan struct{})}
				term.renewed.Store(&begin)
				term.ask = func(ctx context.Context) (int64, error) { return c.ask(ctx, time.Since(begin)) }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				term.keepAlive(ctx)
				took := time.Since(begin)
				most := c.most
				if most == 0 {
					c.least, most = time.Minute, time.Minute
				}
				if took < c.least || took > most {
					t.Errorf("the term ended after %v, want %v to %v", took, c.least, most)
				}
			})
		})
	}
}

// A process that gets no time for longer than its lease asks the store before it gives up, and answers no calls
// meanwhile.
func TestALateProcessAsksTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().Add(-time.Hour)
		term := &etcdTerm{state: &etcdState{lease: 6}, lost: make(chan struct{})}
		term.renewed.Store(&begin)
		asked := false
		term.ask = func(context.Context) (int64, error) {
			asked = true
			if term.Current() {
				t.Error("the lease may be over, and the term is current")
			}
			return 6, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		term.keepAlive(ctx)
		if !asked || !term.Current() {
			t.Errorf("the store was asked: %v, and the term goes on: %v", asked, term.Current())
		}
	})
}
