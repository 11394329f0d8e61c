package fleet

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
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
	name         string
	version      string
	numericClass string
	threads      int
	memory       uint64 // bytes; 0 means unlimited
	minor        uint32 // minor version of the protocol that both sides know
	attachedAt   time.Time
	peerAddress  string        // where other workers fetch pieces of data sets from it; empty if they cannot
	peerKey      []byte        // of the tickets for that; nil if they cannot
	readsObjects bool          // it knows the command, and reads tables by the same rules
	fetchesRows  bool          // it can fetch the rows of its tiles only
	referee      bool          // it only decides which of two workers is wrong
	done         chan struct{} // closed when the session ends

	ended    bool
	draining bool // gets no new tiles
	// Id of a command it seems to hang on, 0 for none; if set, it gets tiles only if there is no other worker.
	stalled      uint64
	away         bool         // its connection was closed and it did not come back at once
	slow         bool         // recently overtaken by others; gets tiles only if there is no other worker
	overtaken    int          // how often it was overtaken
	wrong        *fault.Error // why its answers are not trusted; nil if they are
	sentWrong    string       // which wrong bytes it passed on to another worker; empty if none
	reported     string       // what it finds wrong with itself; empty if nothing
	noStore      string       // why it cannot read the object store; empty if it can or was not asked to
	leaving      bool         // it asked to leave
	farewellSent bool         // it may leave

	lastSeen    time.Time
	watchdog    *time.Timer
	watchdogDue time.Time // when the watchdog timer should fire

	stream  *attachment // nil while it is not connected
	streams int         // number of streams so far
	outbox  []*workerv1.AttachResponse
	nextID  uint64
	pending map[uint64]*call // unanswered commands by id

	tiles int   // tiles of all jobs
	used  int64 // bytes reserved by all jobs

	offers map[string]*offer // what it holds from an earlier coordinator, by identity
}

// compact reports whether the worker knows the small forms of messages that came with minor version 1.
func (s *session) compact() bool { return s.minor >= 1 }

// pairsOnce reports whether the worker can return each pair of a block once, since minor version 2.
func (s *session) pairsOnce() bool { return s.minor >= 2 }

// minorSteps is the minor version of the protocol that came with steps of vectors.
const minorSteps = 2

// allKnow reports whether all workers that may get tiles know a minor version of the protocol.
func (f *Fleet) allKnow(minor uint32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions {
		if s.minor < minor && s.wrong == nil {
			return false
		}
	}
	return true
}

// attachment is one stream of a session.
type attachment struct {
	wake  chan struct{} // signals that the outbox is not empty
	ended chan error    // receives the status with which to end the stream
}

func newAttachment() *attachment {
	return &attachment{wake: make(chan struct{}, 1), ended: make(chan error, 1)}
}

// endWith ends the stream. Only the first reason is kept.
func (a *attachment) endWith(reason error) {
	select {
	case a.ended <- reason:
	default:
	}
}

// admit opens a session for a worker, or resumes its previous one, with a new stream that replaces any other.
func (f *Fleet) admit(hello *workerv1.Hello, referee bool) (*session, *attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, unavailable(ErrClosed.Error())
	}
	if hello.GetTerm() > f.term {
		return nil, nil, wire.Unavailable(wire.NotLeader, "the worker has seen a later leader")
	}
	s, resumed := f.sessions[hello.GetSessionId()]
	if !resumed {
		s = f.newSession(hello)
		s.referee = referee
	}
	if s.stream != nil {
		s.stream.endWith(status.Error(codes.Aborted, "the worker attached again"))
	}
	s.stream, s.away = newAttachment(), false
	s.streams++
	s.outbox = append(s.outbox[:0:0], &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Welcome{
		Welcome: &workerv1.Welcome{
			SessionId:       s.id,
			Resumed:         resumed,
			HeartbeatMillis: uint32(max(1, f.cfg.HeartbeatInterval.Milliseconds())),
			Term:            f.term,
			SilenceMillis:   uint32(max(1, f.cfg.LostAfter.Milliseconds())),
			ProtocolMinor:   wire.WorkerProtocolMinor,
			PeerKey:         s.peerKey,
		},
	}})
	// Commands may have been lost with the old stream. They are sent again in order; workers recognize those that
	// they already have.
	for _, c := range sortedCalls(s.pending) {
		s.outbox = append(s.outbox, c.message)
		c.movedAt = time.Now()
	}
	if s.farewellSent {
		s.outbox = append(s.outbox, farewell())
	}
	s.lastSeen = time.Now()
	change := sessionAttached
	if resumed {
		change = sessionResumed
	}
	f.cfg.Observe.Session(change)
	f.log.Info("worker attached", "worker", s.name, "id", s.id, "threads", s.threads, "resumed", resumed, "repeated", len(s.pending))
	f.notifyChanged()
	f.handOver()
	return s, s.stream, nil
}

// newSession opens a session. The caller holds f.mu.
func (f *Fleet) newSession(hello *workerv1.Hello) *session {
	now := time.Now()
	s := &session{
		id:           uuid.NewString(),
		name:         hello.GetName(),
		version:      hello.GetSoftwareVersion(),
		numericClass: hello.GetNumericClass(),
		threads:      max(1, int(hello.GetThreads())),
		memory:       hello.GetMemoryBytes(),
		minor:        min(hello.GetProtocolMinor(), wire.WorkerProtocolMinor),
		fetchesRows:  hello.GetFetchesRows(),
		attachedAt:   now,
		lastSeen:     now,
		watchdogDue:  now.Add(f.cfg.LostAfter),
		done:         make(chan struct{}),
		pending:      map[uint64]*call{},
		offers:       offersOf(hello),
		readsObjects: hello.GetReadsObjects() && hello.GetTableRules() == wire.TableRules,
	}
	if s.name == "" {
		s.name = s.id
	}
	s.wrong = f.quarantined[hello.GetSessionId()]
	s.sentWrong = f.sentWrong[hello.GetSessionId()]
	if s.peerAddress = hello.GetPeerAddress(); s.peerAddress != "" {
		s.peerKey = make([]byte, peerKeyBytes)
		_, _ = rand.Read(s.peerKey) // it never fails
	}
	f.sessions[s.id] = s
	if f.returned.IsZero() {
		f.returned = now
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
		s.lastSeen = now
	}
	if left := f.cfg.LostAfter - now.Sub(s.lastSeen); left > 0 {
		s.watchdogDue = now.Add(left)
		s.watchdog.Reset(left)
		return
	}
	f.cfg.Observe.Session(sessionLost)
	f.log.Warn("worker lost: it is silent", "worker", s.name, "id", s.id, "silent", now.Sub(s.lastSeen), "tiles", s.tiles)
	f.endSession(s, status.Errorf(codes.Aborted, "the session is over: nothing was heard of the worker for %v", f.cfg.LostAfter))
}

// hear records a sign of life of a worker other than a heartbeat: a message of a transfer, or data that it took or passed
// on. While a transfer keeps its link or its processors busy, a heartbeat may be late.
func (f *Fleet) hear(sessionID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[sessionID]; s != nil {
		s.heard()
	}
}

// heard is hear for a session. A worker without a stream must attach again in time, whatever else it does. The caller
// holds f.mu.
func (s *session) heard() {
	if s.stream != nil {
		s.lastSeen = time.Now()
	}
}

// endSession ends a session for good. Calls that wait for it return errLost. The caller holds f.mu.
func (f *Fleet) endSession(s *session, reason error) {
	if s.ended {
		return
	}
	s.ended = true
	delete(f.sessions, s.id)
	s.watchdog.Stop()
	close(s.done)
	if s.stream != nil {
		s.stream.endWith(reason)
		s.stream = nil
	}
	s.outbox, s.pending = nil, nil
	if s.wrong != nil {
		f.quarantined[s.id] = s.wrong // the same process may attach again
	}
	if s.sentWrong != "" {
		f.sentWrong[s.id] = s.sentWrong
	}
	f.notifyChanged()
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
	closed := time.Since(s.lastSeen) <= 2*f.cfg.HeartbeatInterval
	s.stream, s.lastSeen = nil, time.Now()
	if s.leaving || s.farewellSent {
		f.cfg.Observe.Session(sessionLeft)
		f.log.Info("worker left", "worker", s.name, "id", s.id, "tiles", s.tiles)
		f.endSession(s, nil)
		return
	}
	f.log.Warn("worker's stream broke", "worker", s.name, "id", s.id, "error", cause)
	f.notifyChanged()
	if closed {
		f.awaitReturn(s)
	}
}

// receive handles one message of a worker. It returns false if the stream is no longer that of the session.
func (f *Fleet) receive(s *session, a *attachment, m *workerv1.AttachRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stream != a {
		return false
	}
	s.lastSeen = time.Now()
	switch m := m.GetMessage().(type) {
	case *workerv1.AttachRequest_Heartbeat:
		f.cfg.Observe.Heartbeat()
		f.noteProgress(s, m.Heartbeat.GetRunning())
		if said := fmt.Sprintf("%.300s", m.Heartbeat.GetStatusMessage()); said != s.reported {
			s.reported = said
			f.log.Warn("a worker reports", "worker", s.name, "id", s.id, "message", cmp.Or(said, "the problem is gone"))
		}
		s.push(&workerv1.AttachResponse{Message: &workerv1.AttachResponse_Pulse{Pulse: &workerv1.Pulse{}}})
	case *workerv1.AttachRequest_Answer:
		// Ignore answers that nobody waits for anymore.
		if c := s.pending[m.Answer.GetCommandId()]; c != nil {
			delete(s.pending, m.Answer.GetCommandId())
			c.answer <- m.Answer
		}
	case *workerv1.AttachRequest_Leaving:
		f.log.Info("worker wants to leave", "worker", s.name, "id", s.id, "tiles", s.tiles)
		s.leaving = true
		f.drain(s)
		f.dismissLater(s)
	}
	return true
}

// leaveWait is how long a worker that wants to leave waits while nobody takes its tiles: because there is no other worker, or
// because its jobs run no operation. While others take them, it waits as long as its own limit allows.
const leaveWait = 5 * time.Second

// dismissLater lets a worker leave after a while although it has tiles, unless others are about to take them. The caller holds f.mu.
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

// operationsOn returns how many operations the jobs that use a worker have begun, and whether one is running. The caller holds f.mu.
func (f *Fleet) operationsOn(s *session) (begun uint64, running bool) {
	for j := range f.jobs {
		if j.members[s] != nil {
			begun += j.pace.operations()
			running = running || len(j.operating) > 0
		}
	}
	return begun, running
}

// outgoing takes the messages to send. It returns false if the stream is no longer that of the session.
func (f *Fleet) outgoing(s *session, a *attachment) ([]*workerv1.AttachResponse, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stream != a {
		return nil, false
	}
	batch := s.outbox
	s.outbox = nil
	return batch, true
}

// push queues a message for the worker. It does nothing if there is no stream. The caller holds f.mu.
func (s *session) push(m *workerv1.AttachResponse) {
	if s.stream == nil {
		return
	}
	s.outbox = append(s.outbox, m)
	select {
	case s.stream.wake <- struct{}{}:
	default:
	}
}

// drain stops placing tiles on a worker and dismisses it once it has none. The caller holds f.mu.
func (f *Fleet) drain(s *session) {
	if !s.draining {
		s.draining = true
		f.notifyChanged()
		f.handOver()
	}
	f.dismissIfIdle(s)
}

// dismissIfIdle sends a farewell to a draining worker that holds no tiles. The caller holds f.mu.
func (f *Fleet) dismissIfIdle(s *session) {
	if s.draining && !s.farewellSent && !s.ended && s.tiles == 0 {
		s.farewellSent = true
		s.push(farewell())
	}
}

func farewell() *workerv1.AttachResponse {
	return &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Farewell{Farewell: &workerv1.Farewell{}}}
}

func sortedCalls(pending map[uint64]*call) []*call {
	calls := make([]*call, 0, len(pending))
	for _, c := range pending {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int {
		return cmp.Compare(a.message.GetCommand().GetCommandId(), b.message.GetCommand().GetCommandId())
	})
	return calls
}

func unavailable(message string) error { return wire.Unavailable("SHUTTING_DOWN", message) }
