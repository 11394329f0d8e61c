package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// A worker that is overtaken again during its pause gets no tiles before the end of the second pause.
func TestTheSecondPauseOfASlowWorkerIsNotCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := New(Config{Timing: Timing{SlowAfter: time.Second}}), &session{}
		slow := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return s.slow
		}
		first := slowFor * time.Second
		f.mu.Lock()
		f.markSlow(s)
		f.mu.Unlock()
		time.Sleep(first / 2)
		f.mu.Lock()
		f.markSlow(s)
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
	s, a, err := f.admit(&workerv1.Hello{Name: "w"}, false)
	if err != nil {
		t.Fatal(err)
	}
	heartbeat := &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}}
	for range 100 {
		f.receive(s, a, heartbeat)
	}
	if welcome, _ := f.outgoing(s, a); len(welcome) != 1 {
		t.Errorf("%d messages wait", len(welcome))
	}
	f.receive(s, a, heartbeat)
	if pulse, _ := f.outgoing(s, a); len(pulse) != 1 || pulse[0].GetPulse() == nil {
		t.Errorf("a heartbeat is answered with %v", pulse)
	}
}
