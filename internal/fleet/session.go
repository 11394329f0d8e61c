package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/outbox"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// errLost is the error of a call whose worker was lost, or began to yield its tiles, before it answered.
var errLost = errors.New("fleet: the worker is gone")

// The changes of a session that are reported to observe.Coordinator.Session.
const (
	sessionAttached = "attached"
	sessionResumed  = "resumed"
	sessionAway     = "away" // its connection was closed and it did not come back in time
	sessionLost     = "lost"
	sessionLeft     = "left"
	sessionRefused  = "refused"
)

// peerKeyBytes is the size of the key of the tickets that a worker accepts.
const peerKeyBytes = 32

// session is one worker from its first hello until it leaves or is lost. It can have several streams, one after the
// other: commands that were not answered on one are sent again on the next. The first group of fields never changes;
// Fleet.mu guards the others.
type session struct {
	id           string
	caller       string // who attached it; empty if callers are not authenticated
	name         string
	version      string
	numericClass string
	threads      int
	memory       uint64 // bytes; 0 means unlimited
	attachedAt   time.Time
	peerAddress  string        // where other workers fetch pieces of data sets from it; empty if they cannot
	peerKey      []byte        // of the tickets for that; nil if they cannot
	readsObjects bool          // it reads tables by the same rules
	fetchesRows  bool          // it can fetch the rows of its tiles only
	done         chan struct{} // closed when the session ends

	// Leaving. A worker drains before it may leave, and has no stream once its session has ended.
	ended        bool
	draining     bool // gets no new tiles
	leaving      bool // it asked to leave
	farewellSent bool // it may leave

	// Reachability. It is away only while it has no stream.
	stream      *attachment // nil while it is not connected
	streams     int         // number of streams so far
	away        bool        // its connection was closed and it did not come back at once
	lastSeen    time.Time
	watchdog    *time.Timer
	watchdogDue time.Time // when the watchdog timer should fire

	// Commands. While it has a stream, every call in pending waits to be sent on that stream, or was sent on it.
	nextID  uint64
	pending map[uint64]*call // unanswered commands by id

	// Evidence against it.
	stalled   []uint64 // ids of the commands that it seems to hang on
	slow      bool     // recently overtaken by others
	overtaken int      // how often it was overtaken
	reported  string   // the problem that the worker reported about itself in its last heartbeat; "" if none
	noStore   string   // why it could not read the object store when it last failed; empty if it never did

	// Reservations. Every placement and every handover keeps account of its part.
	tiles  int               // tiles of all jobs
	used   int64             // bytes reserved by all jobs
	offers map[string]*offer // what it holds from an earlier coordinator, by identity
}

// byName orders sessions by the names of their workers.
func byName(a, b *session) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id)) }

// attachment is a stream of a worker. It belongs to the session for as long as session.stream points to it.
type attachment = outbox.Outbox[workerv1.AttachResponse]

// admit opens a session for a worker, or resumes its previous one, with a new stream that replaces any other. Only the
// caller that attached a session can resume it.
func (f *Fleet) admit(ctx context.Context, hello *workerv1.Hello) (*session, *attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.closed {
		return nil, nil, unavailable(ErrClosed.Error())
	}
	if hello.GetTerm() > f.state.term {
		return nil, nil, wire.Unavailable(wire.NotLeader, "the worker has seen a later leader")
	}
	s, caller := f.state.sessions[hello.GetSessionId()], identity.FromContext(ctx).Name
	resumed := s != nil && s.caller == caller
	if !resumed {
		s = f.newSessionLocked(hello)
		s.caller = caller
	}
	if s.stream != nil {
		s.stream.End(status.Error(codes.Aborted, "the worker attached again"))
	}
	s.stream = outbox.New[workerv1.AttachResponse]()
	s.away = false
	s.streams++
	s.pushLocked(&workerv1.AttachResponse{Message: &workerv1.AttachResponse_Welcome{
		Welcome: &workerv1.Welcome{
			SessionId:       s.id,
			Resumed:         resumed,
			HeartbeatMillis: uint32(max(1, f.cfg.HeartbeatInterval.Milliseconds())),
			Term:            f.state.term,
			SilenceMillis:   uint32(max(1, f.cfg.LostAfter.Milliseconds())),
			PeerKey:         s.peerKey,
		},
	}})
	// Commands may have been lost with the old stream. They are sent again in order; workers recognize those that
	// they already have.
	for _, id := range slices.Sorted(maps.Keys(s.pending)) {
		s.pushLocked(s.pending[id].message)
		s.pending[id].movedAt = time.Now()
	}
	if s.farewellSent {
		s.pushLocked(farewell())
	}
	s.lastSeen = time.Now()
	change := sessionAttached
	if resumed {
		change = sessionResumed
	}
	f.cfg.Observe.Session(change)
	f.log.Info("worker attached", "worker", s.name, "id", s.id, "threads", s.threads, "resumed", resumed,
		"repeated", len(s.pending))
	f.notifyLocked()
	f.abandonCallsLocked()
	return s, s.stream, nil
}

// newSessionLocked opens a session.
func (f *Fleet) newSessionLocked(hello *workerv1.Hello) *session {
	now := time.Now()
	s := &session{
		id:           uuid.NewString(),
		name:         hello.GetName(),
		version:      hello.GetSoftwareVersion(),
		numericClass: hello.GetNumericClass(),
		threads:      max(1, int(hello.GetThreads())),
		memory:       hello.GetMemoryBytes(),
		fetchesRows:  hello.GetFetchesRows(),
		attachedAt:   now,
		lastSeen:     now,
		watchdogDue:  now.Add(f.cfg.LostAfter),
		done:         make(chan struct{}),
		pending:      map[uint64]*call{},
		offers:       offersOf(hello),
		readsObjects: hello.GetTableRules() == wire.TableRules,
	}
	if s.name == "" {
		s.name = s.id
	}
	if s.peerAddress = hello.GetPeerAddress(); s.peerAddress != "" {
		s.peerKey = make([]byte, peerKeyBytes)
		_, _ = rand.Read(s.peerKey) // it never fails
	}
	f.state.sessions[s.id] = s
	if f.state.returned.IsZero() {
		f.state.returned = now
	}
	s.watchdog = time.AfterFunc(f.cfg.LostAfter, func() { f.checkAlive(s) })
	return s
}

// checkAlive ends a session that has been silent for too long. Otherwise it schedules the next check for the earliest
// time at which that can be the case.
func (f *Fleet) checkAlive(s *session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.ended {
		return
	}
	now := time.Now()
	if now.Sub(s.watchdogDue) > f.cfg.HeartbeatInterval {
		// The timer is late, so this process was suspended (a sleeping laptop, SIGSTOP). Heartbeats may be waiting to
		// be read: the worker may not have been silent.
		f.seenLocked(s)
	}
	if left := f.cfg.LostAfter - now.Sub(s.lastSeen); left > 0 {
		s.watchdogDue = now.Add(left)
		s.watchdog.Reset(left)
		return
	}
	f.cfg.Observe.Session(sessionLost)
	f.log.Warn("worker is silent; ending its session", "worker", s.name, "id", s.id, "silent", now.Sub(s.lastSeen),
		"tiles", s.tiles)
	f.endSessionLocked(s, status.Errorf(codes.Aborted, "the session is over: nothing was heard of the worker for %v",
		f.cfg.LostAfter))
}

// hear records a sign of life of a worker other than a heartbeat: a message of a transfer, or data that it took or
// passed on. While a transfer keeps its link or its processors busy, a heartbeat may be late.
func (f *Fleet) hear(sessionID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// without a stream it must attach again in time, whatever else it does
	if s := f.state.sessions[sessionID]; s != nil && s.stream != nil {
		f.seenLocked(s)
	}
}

// seenLocked records that something has arrived from a worker, which is no longer silent.
func (f *Fleet) seenLocked(s *session) {
	late := f.silentLocked(s)
	if s.lastSeen = time.Now(); late {
		f.notifyLocked()
	}
}

// silentLocked reports whether the stream of a worker is broken, or its heartbeats are late.
func (f *Fleet) silentLocked(s *session) bool {
	return s.stream == nil || time.Since(s.lastSeen) > 2*f.cfg.HeartbeatInterval
}

// endSessionLocked ends a session for good. Calls that wait for it return errLost.
func (f *Fleet) endSessionLocked(s *session, reason error) {
	if s.ended {
		return
	}
	s.ended = true
	delete(f.state.sessions, s.id)
	s.watchdog.Stop()
	close(s.done)
	if s.stream != nil {
		s.stream.End(reason)
		s.stream = nil
	}
	s.pending = nil
	for e := range f.state.executions {
		e.pace.Forget(s.id)
	}
	f.notifyLocked()
}

// detach records that a stream broke. The worker has LostAfter to come back with its session. A stream that breaks
// although heartbeats were on time was closed, as happens when a process ends; then the worker keeps its tiles for
// ReconnectWithin only. A failing network link is silent first.
func (f *Fleet) detach(s *session, a *attachment, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stream != a {
		return // another stream replaced it, or the session has ended
	}
	closed := !f.silentLocked(s)
	s.stream = nil
	s.lastSeen = time.Now()
	if s.leaving || s.farewellSent {
		f.cfg.Observe.Session(sessionLeft)
		f.log.Info("worker left", "worker", s.name, "id", s.id, "tiles", s.tiles)
		f.endSessionLocked(s, nil)
		return
	}
	f.log.Warn("worker's stream broke; waiting for it to return", "worker", s.name, "id", s.id, "error", cause)
	f.notifyLocked()
	if closed {
		f.awaitReturnLocked(s)
	}
}

// receive handles one message of a worker. It returns false if the stream is no longer that of the session.
func (f *Fleet) receive(s *session, a *attachment, m *workerv1.AttachRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stream != a {
		return false
	}
	f.seenLocked(s)
	switch m := m.GetMessage().(type) {
	case *workerv1.AttachRequest_Heartbeat:
		f.cfg.Observe.Heartbeat()
		f.noteProgressLocked(s, m.Heartbeat.GetRunning())
		if said := fmt.Sprintf("%.300s", m.Heartbeat.GetStatusMessage()); said != s.reported {
			s.reported = said
			f.log.Warn("a worker reports", "worker", s.name, "id", s.id, "message", cmp.Or(said, "the problem is gone"))
		}
		if a.Waiting() == 0 { // otherwise what waits to be sent is a sign of life too
			s.pushLocked(&workerv1.AttachResponse{Message: &workerv1.AttachResponse_Pulse{Pulse: &workerv1.Pulse{}}})
		}
	case *workerv1.AttachRequest_Answer:
		// Ignore answers that nobody waits for anymore.
		if c := s.pending[m.Answer.GetCommandId()]; c != nil {
			delete(s.pending, m.Answer.GetCommandId())
			c.answer <- m.Answer
		}
	case *workerv1.AttachRequest_Leaving:
		f.log.Info("worker wants to leave", "worker", s.name, "id", s.id, "tiles", s.tiles)
		s.leaving = true
		f.drainLocked(s)
		f.dismissLaterLocked(s)
	}
	return true
}

// pushLocked queues a message for the worker. It does nothing if there is no stream.
func (s *session) pushLocked(m *workerv1.AttachResponse) {
	if s.stream != nil {
		s.stream.Push(m)
	}
}

// capacity returns the memory that a worker gives to jobs.
func (s *session) capacity() int64 {
	if s.memory == 0 || s.memory > planning.Unlimited {
		return planning.Unlimited
	}
	return int64(s.memory)
}

// freeLocked returns how much of that no job has reserved.
func (s *session) freeLocked() int64 { return s.capacity() - s.used }

// planned describes the worker to a plan that may use some of its memory.
func (s *session) planned(free int64) planning.Worker {
	return planning.Worker{Name: s.name, Threads: s.threads, Free: free, Whole: !s.fetchesRows}
}

func unavailable(message string) error { return wire.Unavailable("SHUTTING_DOWN", message) }
