package parallel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestProgressCountsThePieces(t *testing.T) {
	var pieces atomic.Uint64
	ctx := WithProgress(t.Context(), &pieces)
	pool := NewPool(3)
	for range 2 {
		if err := pool.Run(ctx, 10, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.RunOn(ctx, 1, 5, func(int) error { return errors.New("fails") }); err == nil {
		t.Error("no error")
	}
	if err := pool.Run(context.Background(), 10, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := pieces.Load(); got != 21 {
		t.Errorf("%d pieces were counted, want 21", got)
	}
}
