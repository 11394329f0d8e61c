package signal

import "testing"

// Those who wake never wait, and whoever waits next is woken once.
func TestWake(t *testing.T) {
	wake := make(chan struct{}, 1)
	ended := make(chan string, 1)
	for range 3 {
		Wake(wake)
	}
	Offer(ended, "first")
	Offer(ended, "second")
	if len(wake) != 1 {
		t.Errorf("%d signals are pending, want 1", len(wake))
	}
	if got := <-ended; got != "first" || len(ended) != 0 {
		t.Errorf("received %q, want the first value alone", got)
	}
}
