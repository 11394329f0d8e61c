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
	s, named := f.state.sessions[worker], 0
	if s == nil {
		for _, other := range f.state.sessions {
			if other.name == worker {
				s = other
				named++
			}
		}
	}
	switch {
	case s == nil:
		return WorkerInfo{}, fault.New(fault.NotFound, "WORKER_NOT_FOUND", "no worker %q is connected", worker)
	case named > 1:
		return WorkerInfo{}, fault.New(fault.FailedPrecondition, "AMBIGUOUS_WORKER",
			"%d workers are named %q; give the id of one", named, worker)
	}
	if !s.draining {
		f.log.Info("draining worker", "worker", s.name, "id", s.id, "tiles", s.tiles)
	}
	f.drainLocked(s)
	return f.infoLocked(s), nil
}

// drainLocked stops placing tiles on a worker and dismisses it once it has none.
func (f *Fleet) drainLocked(s *session) {
	if !s.draining {
		s.draining = true
		f.notifyLocked()
		f.abandonCallsLocked()
	}
	f.dismissIfIdleLocked(s)
}

// workingLocked reports whether a worker can continue with its tiles while others build them.
func (s *session) workingLocked() bool {
	return !s.ended && !s.away && s.stream != nil
}

// yieldsLocked reports whether the tiles of a worker move to others as soon as others can take them.
func (s *session) yieldsLocked() bool { return s.draining || s.away }

// takesTilesLocked reports whether new tiles may be placed on a worker.
func (s *session) takesTilesLocked() bool {
	return s.stream != nil && !s.draining
}

// anyTakesTilesLocked reports whether a worker takes new tiles.
func (st *state) anyTakesTilesLocked() bool {
	for _, s := range st.sessions {
		if s.takesTilesLocked() {
			return true
		}
	}
	return false
}

// abandonCallsLocked makes the calls to workers that yield their tiles return errLost, if some worker can take tiles.
// The operations that waited for these calls place the tiles again. Tiles that no worker has room for stay, and their
// calls are repeated. Commands that nobody waits for, which free memory, are still sent.
func (f *Fleet) abandonCallsLocked() {
	if !f.state.anyTakesTilesLocked() {
		return
	}
	for _, s := range f.state.sessions {
		if !s.yieldsLocked() {
			continue
		}
		continued := f.continuedOnLocked(s)
		for id, c := range s.pending {
			if c.waited && !continued[c.message.GetCommand().GetJobId()] {
				delete(s.pending, id)
				c.answer <- nil
			}
		}
	}
}

// continuedOnLocked returns the keys of the jobs that a worker that only drains continues with, because another worker
// can build its tiles in the background.
func (f *Fleet) continuedOnLocked(s *session) map[string]bool {
	continued := map[string]bool{}
	for e := range f.state.executions {
		if s.workingLocked() && e.placed.members[s] != nil {
			for _, other := range f.state.sessions {
				continued[e.key] = continued[e.key] || e.canJoinLocked(other)
			}
		}
	}
	return continued
}

// awaitReturnLocked gives a worker whose connection was closed a moment to come back. The operating system closes the
// connections of a process that ends, whereas a process that still exists reconnects at once.
func (f *Fleet) awaitReturnLocked(s *session) {
	streams := s.streams
	time.AfterFunc(f.cfg.ReconnectWithin, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.stream != nil || s.streams != streams {
			return
		}
		f.cfg.Observe.Session(sessionAway)
		f.log.Warn("worker closed its connection and did not return; moving its tiles to others", "worker", s.name,
			"id", s.id, "tiles", s.tiles)
		s.away = true
		for e := range f.state.executions {
			e.countCrashLocked(s)
		}
		f.notifyLocked()
		f.abandonCallsLocked()
	})
}

// isDraining reports whether a worker is draining, because it wants to leave or somebody wants it to.
func (f *Fleet) isDraining(s *session) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s.draining
}

// dismissIfIdleLocked sends a farewell to a draining worker that holds no tiles.
func (f *Fleet) dismissIfIdleLocked(s *session) {
	if s.draining && !s.farewellSent && !s.ended && s.tiles == 0 {
		s.farewellSent = true
		s.pushLocked(farewell())
	}
}

// leaveWait is how long a worker that wants to leave waits while nobody takes its tiles: because there is no other
// worker, or because its jobs run no operation. While others take them, it waits as long as its own limit allows.
const leaveWait = 5 * time.Second

// dismissLaterLocked lets a worker leave after a while although it has tiles, unless others are about to take them.
func (f *Fleet) dismissLaterLocked(s *session) {
	before, _ := f.operationsOnLocked(s)
	time.AfterFunc(leaveWait, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.farewellSent {
			return
		}
		if now, running := f.operationsOnLocked(s); f.state.anyTakesTilesLocked() && (running || now != before) {
			f.dismissLaterLocked(s)
			return
		}
		s.farewellSent = true
		s.pushLocked(farewell())
	})
}

// operationsOnLocked returns how many operations the jobs that use a worker have begun, and whether one is running.
func (f *Fleet) operationsOnLocked(s *session) (begun uint64, running bool) {
	for e := range f.state.executions {
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
		f.endSessionLocked(s, nil)
	}
}
