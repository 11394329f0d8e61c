package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/outbox"
	"github.com/cleave-project/cleave/test/bubble"
)

// A worker that is overtaken again during its pause gets no tiles before the end of the second pause.
func TestTheSecondPauseOfASlowWorkerIsNotCutShort(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{Timing: Timing{SlowAfter: time.Second}})
		s := &session{}
		slow := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return s.slow
		}
		first := slowFor * time.Second
		f.mu.Lock()
		f.markSlowLocked(s)
		f.mu.Unlock()
		time.Sleep(first / 2)
		f.mu.Lock()
		f.markSlowLocked(s)
		f.mu.Unlock()
		time.Sleep(first)
		if !slow() {
			t.Error("it gets tiles after the first pause")
		}
		time.Sleep(first)
		if synctest.Wait(); slow() {
			t.Error("it gets no tiles after the second pause")
		}
	})
}

// The heartbeats of a worker that reads nothing do not pile up answers.
func TestPulsesDoNotPileUp(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s, a, err := f.admit(t.Context(), &workerv1.Hello{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	heartbeat := &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}}
	for range 100 {
		f.receive(s, a, heartbeat)
	}
	if a.Waiting() != 1 {
		t.Errorf("%d messages wait", a.Waiting())
	}
	sent := make(chan *workerv1.AttachResponse, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = outbox.Serve(silent{ctx: ctx, stop: ctx.Done()}, a,
			outbox.Handler[workerv1.AttachRequest, workerv1.AttachResponse]{
				Sent:  func(m *workerv1.AttachResponse) { sent <- m },
				Broke: func(error) error { return nil },
			})
	}()
	if m := <-sent; m.GetWelcome() == nil {
		t.Errorf("the first message is %v", m)
	}
	f.receive(s, a, heartbeat)
	if m := <-sent; m.GetPulse() == nil {
		t.Errorf("a heartbeat is answered with %v", m)
	}
}
