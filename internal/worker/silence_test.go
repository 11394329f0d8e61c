package worker

import (
	"sync/atomic"
	"testing"
	"time"
)

// What arrives in transfers shows that the coordinator is not silent, each time for once.
func TestTransfersBreakTheSilence(t *testing.T) {
	var arrived atomic.Uint64
	ended := 0
	s := newSilence(time.Hour, &arrived, func() { ended++ })
	defer s.stop()
	arrived.Add(1)
	s.expire()
	if ended > 0 {
		t.Error("the coordinator counts as silent during a transfer")
	}
	s.expire()
	if ended != 1 {
		t.Error("the coordinator does not count as silent after a transfer")
	}
	s.reset(time.Hour)
	s.expire()
	if ended != 2 {
		t.Error("the coordinator does not count as silent after its last message")
	}
}
