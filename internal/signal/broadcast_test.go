package signal

import (
	"testing"
	"testing/synctest"
)

// Notify wakes up everybody who called Wait before it, and nobody who calls Wait later.
func TestAChangeWakesUpAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Broadcast
		b.Notify() // nobody waits
		first := b.Wait()
		if b.Wait() != first {
			t.Error("two channels for one change")
		}
		woken := make(chan int, 2)
		for waiter := range 2 {
			wait := b.Wait()
			go func() { <-wait; woken <- waiter }()
		}
		synctest.Wait()
		if len(woken) > 0 {
			t.Error("woken without a change")
		}
		b.Notify()
		synctest.Wait()
		if len(woken) != 2 {
			t.Errorf("%d of 2 are woken", len(woken))
		}
		select {
		case <-b.Wait():
			t.Error("an earlier change wakes up those who ask after it")
		default:
		}
	})
}
