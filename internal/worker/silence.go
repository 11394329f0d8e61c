package worker

import (
	"sync"
	"sync/atomic"
	"time"
)

// silence calls a function once the coordinator has been silent for too long: nothing arrived on the stream, and
// nothing in transfers, whose bytes may keep messages of the stream waiting. It is safe for concurrent use.
type silence struct {
	arrived *atomic.Uint64 // counts what arrives in transfers
	end     func()

	mu    sync.Mutex
	limit time.Duration
	until time.Time // when the wait ends; zero while it is stopped. An expire that was late looks here
	known uint64    // of arrived, when the timer was last set
	timer *time.Timer
}

// newSilence begins to wait.
func newSilence(limit time.Duration, arrived *atomic.Uint64, end func()) *silence {
	s := &silence{arrived: arrived, end: end, limit: limit, until: time.Now().Add(limit), known: arrived.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(limit, s.expire)
	return s
}

// expire ends the wait, unless it was stopped or begun again meanwhile, or something has arrived in transfers.
func (s *silence) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || time.Now().Before(s.until) {
		return
	}
	if s.arrived.Load() != s.known {
		s.waitLocked()
		return
	}
	s.end()
}

// waitLocked begins the wait. The caller holds s.mu.
func (s *silence) waitLocked() {
	s.known = s.arrived.Load()
	s.until = time.Now().Add(s.limit)
	s.timer.Reset(s.limit)
}

// reset begins the wait again, after a message, with another limit.
func (s *silence) reset(limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.waitLocked()
}

// stop ends the wait without calling the function. It can begin again by reset.
func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	s.timer.Stop()
}
