package dial

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var policy = BackoffPolicy{First: 100 * time.Millisecond, Max: 2 * time.Second}

func TestDelaysDoubleUpToTheLimit(t *testing.T) {
	want := []time.Duration{100, 200, 400, 800, 1600, 2000, 2000, 2000}
	for before, ms := range want {
		if got := policy.Delay(before, 1); got != ms*time.Millisecond {
			t.Errorf("after %d pauses at most %v, want %v", before, got, ms*time.Millisecond)
		}
		if got := policy.Delay(before, 0); got != ms*time.Millisecond/2 {
			t.Errorf("after %d pauses at least %v, want %v", before, got, ms*time.Millisecond/2)
		}
	}
}

func TestDelaysStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		p := BackoffPolicy{First: first,
			Max: first + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))}
		before := rapid.IntRange(0, 1<<20).Draw(t, "before")
		random := rapid.Float64Range(0, 1).Draw(t, "random")
		if got := p.Delay(before, random); got < p.First/2 || got > p.Max {
			t.Fatalf("%+v after %d pauses: %v", p, before, got)
		}
	})
}

func TestWaitPausesAndResetStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBackoff(policy)
		pause := func() time.Duration {
			t.Helper()
			start := time.Now()
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		for range 10 {
			pause()
		}
		if got := pause(); got < policy.Max/2 || got > policy.Max || b.Waits() != 11 {
			t.Errorf("pause %d took %v", b.Waits(), got)
		}
		b.Reset()
		if b.Waits() != 0 {
			t.Errorf("%d pauses after a reset", b.Waits())
		}
		if got := pause(); got < policy.First/2 || got > policy.First {
			t.Errorf("the pause after a reset took %v", got)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := NewBackoff(policy).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}
