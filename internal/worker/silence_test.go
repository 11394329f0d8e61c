package worker

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What arrives in transfers shows that the coordinator is not silent, each time for once.
func TestTransfersBreakTheSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var arrived atomic.Uint64
		var ended atomic.Int32
		s := newSilence(time.Hour, &arrived, func() { ended.Add(1) })
		defer s.stop()
		pass := func() {
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		arrived.Add(1)
		pass()
		if ended.Load() > 0 {
			t.Error("the coordinator counts as silent during a transfer")
		}
		pass()
		if ended.Load() != 1 {
			t.Error("the coordinator does not count as silent after a transfer")
		}
		s.reset(time.Hour)
		pass()
		if ended.Load() != 2 {
			t.Error("the coordinator does not count as silent after its last message")
		}
	})
}

// A timer that fired while the wait was stopped or begun again ends nothing.
func TestSilenceThatIsLate(t *testing.T) {
	var arrived atomic.Uint64
	s := newSilence(time.Hour, &arrived, func() { t.Error("the session ended") })
	s.reset(time.Hour)
	s.expire()
	s.stop()
	s.expire()
}

// Jobs that are kept while the time of earlier ones ends stay.
func TestKeptJobsOutliveEarlierOnes(t *testing.T) {
	k := newKept()
	k.add([]*job{{offerID: "early"}}, time.Hour)
	k.take("early")
	k.add([]*job{{offerID: "late"}}, time.Hour)
	k.expire(1)
	if k.take("late") == nil {
		t.Error("the job is gone")
	}
}
