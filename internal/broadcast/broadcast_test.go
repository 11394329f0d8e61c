package broadcast

import (
	"testing"
	"testing/synctest"
)

// A change wakes up all who asked before it, and none who asks after it.
func TestAChangeWakesUpAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Signal
		s.Notify() // nobody waits
		first := s.Wait()
		if s.Wait() != first {
			t.Error("two channels for one change")
		}
		woken := make(chan int, 2)
		for waiter := range 2 {
			wait := s.Wait()
			go func() { <-wait; woken <- waiter }()
		}
		synctest.Wait()
		if len(woken) > 0 {
			t.Error("woken without a change")
		}
		s.Notify()
		synctest.Wait()
		if len(woken) != 2 {
			t.Errorf("%d of 2 are woken", len(woken))
		}
		select {
		case <-s.Wait():
			t.Error("an earlier change wakes up those who ask after it")
		default:
		}
	})
}
