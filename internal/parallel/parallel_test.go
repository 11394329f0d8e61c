package parallel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Every piece is done once, for any number of threads and pieces.
func TestEveryPieceIsDoneOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 7} {
		pool := NewPool(threads)
		for _, count := range []int{0, 1, 3, 100} {
			done := make([]atomic.Int32, count)
			if err := pool.Run(context.Background(), count, func(at int) error {
				done[at].Add(1)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for at := range done {
				if n := done[at].Load(); n != 1 {
					t.Errorf("%d threads, %d pieces: piece %d was done %d times", threads, count, at, n)
				}
			}
		}
	}
}

// Of several failures that of the first piece is returned, a panic is a failure, and the pool can be used again.
func TestFailures(t *testing.T) {
	pool := NewPool(4)
	third := errors.New("third")
	err := pool.Run(context.Background(), 50, func(at int) error {
		switch {
		case at == 3:
			return third
		case at > 3:
			panic("later")
		}
		return nil
	})
	if !errors.Is(err, third) {
		t.Errorf("told %v", err)
	}
	err = pool.Run(context.Background(), 5, func(int) error { panic("ouch") })
	if err == nil || !strings.Contains(err.Error(), "ouch") {
		t.Errorf("a panic is told as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := pool.Run(ctx, 5, func(int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := pool.Run(context.Background(), 5, func(int) error { return nil }); err != nil {
		t.Errorf("afterward: %v", err)
	}
}

// Pieces after one that failed could not change the error.
func TestNoPieceStartsAfterAFailure(t *testing.T) {
	done := 0
	fails := errors.New("fails")
	err := NewPool(1).Run(t.Context(), 100, func(at int) error {
		if done++; at == 3 {
			return fails
		}
		return nil
	})
	if !errors.Is(err, fails) || done != 4 {
		t.Errorf("%d pieces were done, %v", done, err)
	}
}

// Ranges covers every index once, and a panic on any goroutine reaches the caller.
func TestRanges(t *testing.T) {
	for _, n := range []int{0, 1, 10, 11} {
		done := make([]atomic.Int32, n)
		if err := Ranges(t.Context(), n, 5, func(from, to int) {
			for at := from; at < to; at++ {
				done[at].Add(1)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for at := range done {
			if count := done[at].Load(); count != 1 {
				t.Errorf("index %d of %d was done %d times", at, n, count)
			}
		}
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(error).Error(), "ouch") {
			t.Errorf("recovered %v", r)
		}
	}()
	err := Ranges(t.Context(), 100, 1, func(int, int) { panic("ouch") })
	t.Errorf("returned %v", err)
}

// A panic is not mistaken for the end of the context, even if the context has ended by then.
func TestRangesPanicAfterTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(error).Error(), "ouch") {
			t.Errorf("recovered %v", r)
		}
	}()
	err := Ranges(ctx, 1, 1, func(int, int) {
		cancel()
		panic("ouch")
	})
	t.Errorf("returned %v", err)
}

// A context says how many threads a task may use; the innermost counts.
func TestThreadsOfAContext(t *testing.T) {
	if got := Threads(t.Context()); got != runtime.GOMAXPROCS(0) {
		t.Errorf("%d threads by default", got)
	}
	ctx := WithThreads(WithThreads(t.Context(), 7), 0)
	if got := Threads(ctx); got != 1 {
		t.Errorf("%d threads, want 1", got)
	}
	var pieces []int // without a lock: one thread takes them in order
	if err := Ranges(ctx, 100, 10, func(from, _ int) { pieces = append(pieces, from) }); err != nil ||
		len(pieces) != 10 || !slices.IsSorted(pieces) {
		t.Errorf("pieces %v, %v", pieces, err)
	}
}

// A pool that runs a task refuses another, from a piece of it or from elsewhere, and can be used afterward.
func TestOneTaskAtATime(t *testing.T) {
	pool := NewPool(2)
	nothing := func(int) error { return nil }
	err := pool.Run(t.Context(), 1, func(int) error { return pool.Run(t.Context(), 1, nothing) })
	if err == nil || !strings.Contains(err.Error(), "one task at a time") {
		t.Errorf("a task within a task is told as %v", err)
	}
	if err := pool.Run(t.Context(), 3, nothing); err != nil {
		t.Errorf("afterward: %v", err)
	}
}
