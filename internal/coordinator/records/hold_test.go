package records

import (
	"context"
	"errors"
	"testing"
)

func TestHold(t *testing.T) {
	var h Hold
	deleted := 0
	remove := func() error { deleted++; return nil }
	begin := func() func() bool {
		end, err := h.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	one := begin()
	two := begin()
	if called, err := h.Delete(remove); called || err != nil || deleted > 0 || !h.Active() {
		t.Error("something was deleted during a backup")
	}
	if one() || !two() || h.Active() {
		t.Error("the last backup is not the last")
	}
	if called, err := h.Delete(remove); !called || err != nil || deleted != 1 {
		t.Error("nothing is deleted after a backup")
	}
}

// A backup waits for deletions in progress until its caller leaves, and no further deletion waits for it.
func TestABackupThatWaitsCanBeCanceled(t *testing.T) {
	var h Hold
	begun := make(chan struct{})
	deleted := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = h.Delete(func() error { close(begun); <-deleted; return nil })
	}()
	<-begun
	ctx, leave := context.WithCancel(t.Context())
	leave()
	end, err := h.Begin(ctx)
	if !errors.Is(err, context.Canceled) || !h.Active() {
		t.Errorf("while a deletion is in progress: %v", err)
	}
	if called, err := h.Delete(func() error { return nil }); called || err != nil {
		t.Errorf("another deletion while the backup waits: %v, %v", called, err)
	}
	if !end() {
		t.Error("another backup is left")
	}
	close(deleted)
	<-ended
	if end, err = h.Begin(ctx); err != nil || !end() {
		t.Errorf("after the deletion: %v", err)
	}
}
