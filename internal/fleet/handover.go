package fleet

import "time"

// How tiles leave a worker that is still a session: it drains, its connection was closed, or it
// is not to be trusted.

// yields tells whether the tiles of a worker go to others as soon as others can take them.
func (s *session) yields() bool { return s.draining || s.away || s.wrong != nil }

// handOver gives up the calls that wait for workers that yield their tiles, if there is a worker to take tiles. The
// operations that waited place them again; where nobody has room, they stay and the call is repeated. The caller
// holds f.mu.
func (f *Fleet) handOver() {
	taken := false
	for _, s := range f.sessions {
		taken = taken || s.takesTiles()
	}
	if !taken {
		return
	}
	for _, s := range f.sessions {
		if s.yields() {
			s.giveUp()
		}
	}
}

// giveUp ends all calls that wait for the worker with errLost. Commands that nobody waits for, which free memory, are
// still sent. The caller holds f.mu.
func (s *session) giveUp() {
	for id, c := range s.pending {
		if c.waited {
			delete(s.pending, id)
			c.answer <- nil
		}
	}
}

// awaitReturn gives a worker whose connection was closed a moment to come back. The kernel of its machine closes the
// connections of a process that ends; a process that is still there connects again at once. The caller holds f.mu.
func (f *Fleet) awaitReturn(s *session) {
	streams := s.streams
	time.AfterFunc(f.cfg.ReconnectWithin, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.stream != nil || s.streams != streams {
			return
		}
		f.cfg.Observer.Session(sessionAway)
		f.log.Warn("worker's connection is closed and it is not back: its tiles go to others", "worker", s.name, "id", s.id, "tiles", s.tiles)
		s.away = true
		f.notifyChanged()
		f.handOver()
	})
}
