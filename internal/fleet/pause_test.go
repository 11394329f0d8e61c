package fleet

import (
	"testing"
	"testing/synctest"
	"time"
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
