package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cleave-project/cleave/test/bubble"
)

// Goroutines of a bubble look at timers that are due. Under the race detector, this crashes a bubble on two processors.
func TestTimersThatAreDue(t *testing.T) {
	began := time.Now()
	bubble.Test(t, func(t *testing.T) {
		if !time.Now().Before(began) {
			t.Error("time is real")
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10_000 {
					timer := time.NewTimer(0)
					for !due(timer) {
						runtime.Gosched()
					}
				}
			})
		}
		all.Wait()
	})
}

// due reports whether a timer has fired, without waiting for it.
func due(timer *time.Timer) bool {
	select {
	case <-timer.C:
		return true
	default:
		return false
	}
}
