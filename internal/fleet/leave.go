package fleet

import (
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// This file is about workers that leave: their tiles move to others, and then they get a farewell. A worker whose
// connection was closed does not say so, but is treated alike.

// Drain stops placing tiles on a worker, given by id or name, and moves its tiles to others: to workers that have
// tiles of the same job even if it is working on them, to others once they have built them. Then the worker is told
// to leave.
func (f *Fleet) Drain(worker string) (WorkerInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*session
	for id, s := range f.sessions {
		if id == worker {
			found = []*session{s}
			break
		}
		if s.name == worker {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return WorkerInfo{}, fault.New(fault.NotFound, "WORKER_NOT_FOUND", "no worker %q is connected", worker)
	case 1:
	default:
		return WorkerInfo{}, fault.New(fault.FailedPrecondition, "AMBIGUOUS_WORKER",
			"%d workers are named %q; give the id of one", len(found), worker)
	}
	s := found[0]
	if !s.draining {
		f.log.Info("draining worker", "worker", s.name, "id", s.id, "tiles", s.tiles)
	}
	f.drain(s)
	return f.info(s), nil
}

// drain stops placing tiles on a worker and dismisses it once it has none. The caller holds f.mu.
func (f *Fleet) drain(s *session) {
	if !s.draining {
		s.draining = true
		f.changed.Notify()
		f.abandonCalls()
	}
	f.dismissIfIdle(s)
}

// working reports whether a worker can continue with its tiles while others build them. The caller holds f.mu.
func (s *session) working() bool { return !s.ended && !s.away && s.stream != nil && s.wrong == nil }

// yields reports whether the tiles of a worker move to others as soon as others can take them. The caller holds f.mu.
func (s *session) yields() bool { return s.draining || s.away || s.wrong != nil }

// takesTiles reports whether new tiles may be placed on a worker. The caller holds f.mu.
func (s *session) takesTiles() bool {
	return s.stream != nil && !s.draining && s.wrong == nil && !s.referee
}

// anyTakesTiles reports whether a worker takes new tiles. The caller holds f.mu.
func (f *Fleet) anyTakesTiles() bool {
	for _, s := range f.sessions {
		if s.takesTiles() {
			return true
		}
	}
	return false
}

// abandonCalls makes the calls to workers that yield their tiles return errLost, if some worker can take tiles. The
// operations that waited for these calls place the tiles again. Tiles that no worker has room for stay, and their
// calls are repeated. The caller holds f.mu.
func (f *Fleet) abandonCalls() {
	if !f.anyTakesTiles() {
		return
	}
	for _, s := range f.sessions {
		if s.yields() {
			s.abandonCalls(f.continuedOn(s))
		}
	}
}

// continuedOn returns the keys of the jobs that a worker that only drains continues with, because another worker can
// build its tiles in the background. The caller holds f.mu.
func (f *Fleet) continuedOn(s *session) map[string]bool {
	continued := map[string]bool{}
	for e := range f.executions {
		if s.working() && e.placed.members[s] != nil {
			for _, other := range f.sessions {
				continued[e.key] = continued[e.key] || e.canJoin(other)
			}
		}
	}
	return continued
}

// abandonCalls ends the calls that wait for the worker with errLost, except for those of some jobs. Commands that
// nobody waits for, which free memory, are still sent. The caller holds f.mu.
func (s *session) abandonCalls(except map[string]bool) {
	for id, c := range s.pending {
		if c.waited && !except[c.message.GetCommand().GetJobId()] {
			delete(s.pending, id)
			c.answer <- nil
		}
	}
}

// awaitReturn gives a worker whose connection was closed a moment to come back. The operating system closes the
// connections of a process that ends, whereas a process that still exists reconnects at once. The caller holds f.mu.
func (f *Fleet) awaitReturn(s *session) {
	streams := s.streams
	time.AfterFunc(f.cfg.ReconnectWithin, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.stream != nil || s.streams != streams {
			return
		}
		f.cfg.Observe.Session(sessionAway)
		f.log.Warn("worker closed its connection and did not return; moving its tiles to others", "worker", s.name, "id", s.id, "tiles", s.tiles)
		s.away = true
		for e := range f.executions {
			e.countCrash(s)
		}
		f.changed.Notify()
		f.abandonCalls()
	})
}

// leaves reports whether a worker was asked to leave, or asked to.
func (f *Fleet) leaves(s *session) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s.draining
}

// dismissIfIdle sends a farewell to a draining worker that holds no tiles. The caller holds f.mu.
func (f *Fleet) dismissIfIdle(s *session) {
	if s.draining && !s.farewellSent && !s.ended && s.tiles == 0 {
		s.farewellSent = true
		s.push(farewell())
	}
}

// leaveWait is how long a worker that wants to leave waits while nobody takes its tiles: because there is no other
// worker, or because its jobs run no operation. While others take them, it waits as long as its own limit allows.
const leaveWait = 5 * time.Second

// dismissLater lets a worker leave after a while although it has tiles, unless others are about to take them. The
// caller holds f.mu.
func (f *Fleet) dismissLater(s *session) {
	before, _ := f.operationsOn(s)
	time.AfterFunc(leaveWait, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.farewellSent {
			return
		}
		if now, running := f.operationsOn(s); f.anyTakesTiles() && (running || now != before) {
			f.dismissLater(s)
			return
		}
		s.farewellSent = true
		s.push(farewell())
	})
}

// operationsOn returns how many operations the jobs that use a worker have begun, and whether one is running. The
// caller holds f.mu.
func (f *Fleet) operationsOn(s *session) (begun uint64, running bool) {
	for e := range f.executions {
		if e.placed.members[s] != nil {
			begun += e.pace.Operations()
			running = running || len(e.operating) > 0
		}
	}
	return begun, running
}

func farewell() *workerv1.AttachResponse {
	return &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Farewell{Farewell: &workerv1.Farewell{}}}
}

// endDrained ends the session of a worker after its farewell.
func (f *Fleet) endDrained(s *session, a *attachment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stream == a {
		f.cfg.Observe.Session(sessionLeft)
		f.log.Info("worker drained", "worker", s.name, "id", s.id)
		f.endSession(s, nil)
	}
}
