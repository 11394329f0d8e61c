package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/wire"
)

// errStalled reports that a call made no progress for too long although its worker sends heartbeats.
var errStalled = errors.New("fleet: the worker makes no progress")

// call is a command that has not been answered yet. Fleet.mu guards it. It is removed from session.pending before a
// value is sent to answer, so there is one value at most.
type call struct {
	message  *workerv1.AttachResponse
	waited   bool                  // a goroutine waits for the answer
	maxBytes int                   // upper limit on a result sent by reference
	result   []byte                // the result, if it was sent by reference
	answer   chan *workerv1.Answer // buffered; receives nil if the call is abandoned
	pieces   uint64                // pieces of work done, as last reported by the worker
	movedAt  time.Time             // when that number last changed
}

// commandLocked queues a command and returns the pending call. The command is sent again on every new stream until it
// is answered. Workers recognize it, because ids ascend, and keep one answer of each job to send again: at most one
// call of a job on a worker may be waited for at a time.
func (s *session) commandLocked(c *workerv1.Command, maxBytes int) *call {
	s.nextID++
	c.CommandId = s.nextID
	pending := &call{
		message:  &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Command{Command: c}},
		maxBytes: maxBytes,
		answer:   make(chan *workerv1.Answer, 1),
		movedAt:  time.Now(),
	}
	s.pending[c.CommandId] = pending
	s.pushLocked(pending.message)
	return pending
}

// awaited is a command to a worker whose answer somebody waits for.
type awaited struct {
	to           *session
	command      *workerv1.Command
	maxBytes     int           // upper limit on the values of the answer
	stallTimeout time.Duration // how long the worker may make no progress
	// Nothing is sent once released has ended, because nobody would free what the worker then keeps.
	released context.Context
}

// await sends a command and waits for its answer, across broken streams, for as long as the worker makes progress. An
// answer that the command failed is a *failure.
func (f *Fleet) await(ctx context.Context, a awaited) (*reply, error) {
	pending, err := f.send(ctx, a)
	if err != nil {
		return nil, err
	}
	s := a.to
	due := time.Now().Add(a.stallTimeout)
	timer := time.NewTimer(a.stallTimeout)
	defer timer.Stop()
	for {
		select {
		case answer := <-pending.answer:
			if answer == nil {
				return nil, errLost
			}
			return pending.reply(s, answer)
		case <-s.done:
			return nil, errLost
		case <-timer.C:
			left := f.timeLeft(s, pending, due, a.stallTimeout)
			if left <= 0 {
				return nil, errStalled
			}
			due = time.Now().Add(left)
			timer.Reset(left)
		case <-ctx.Done():
			f.mu.Lock()
			delete(s.pending, a.command.GetCommandId())
			f.mu.Unlock()
			return nil, context.Cause(ctx)
		}
	}
}

// send sends the command of await.
func (f *Fleet) send(ctx context.Context, a awaited) (*call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case a.released.Err() != nil:
		return nil, ErrReleased
	case a.to.ended:
		return nil, errLost
	}
	pending := a.to.commandLocked(a.command, a.maxBytes)
	pending.waited = true
	return pending, nil
}

// reply is a worker's answer, including values that arrived by reference.
type reply struct {
	from         *session
	values       []byte
	moves        []labeling.Move // decoded values, if these are moves
	selfAffinity []byte
	farthest     []*workerv1.Candidate
}

// reply returns what a worker answered.
func (c *call) reply(s *session, answer *workerv1.Answer) (*reply, error) {
	if bad := answer.GetFailure(); bad != nil {
		bad.Reason, bad.Message = fmt.Sprintf("%.100s", bad.GetReason()), fmt.Sprintf("%.1200s", bad.GetMessage())
		return nil, &failure{worker: s.name, reported: bad}
	}
	done := answer.GetDone()
	r := &reply{from: s, values: done.GetValues().GetInline(), selfAffinity: done.GetSelfAffinity(),
		farthest: done.GetFarthest()}
	if done.GetValues().GetReference() != "" {
		r.values = c.result
	}
	return r, nil
}

// failureLabel returns the reason a command failed, or "" if it succeeded.
func failureLabel(err error) string {
	bad, failed := errors.AsType[*failure](err)
	switch {
	case failed:
		return strings.ToLower(strings.TrimPrefix(bad.reported.GetKind().String(), "FAILURE_KIND_"))
	case err == nil:
		return ""
	case errors.Is(err, errLost):
		return "lost"
	case errors.Is(err, errStalled):
		return "stalled"
	}
	return "canceled"
}

// timeLeft returns how much longer a call may take without progress. It is called when the previous limit has passed,
// at the time due. If it returns 0 or less, the call has been abandoned and the worker counts as stalled.
func (f *Fleet) timeLeft(s *session, c *call, due time.Time, stallTimeout time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	id := c.message.GetCommand().GetCommandId()
	switch {
	case s.pending[id] != c: // just answered, or the session has ended
		return stallTimeout
	case s.stream == nil || now.Sub(due) > f.cfg.HeartbeatInterval:
		// Without a stream the worker cannot report progress, and silence has a limit of its own. A late timer means
		// that this process was suspended, and reports may be waiting to be read.
		c.movedAt = now
	}
	left := stallTimeout - now.Sub(c.movedAt)
	if left <= 0 {
		delete(s.pending, id)
		s.stalled = append(s.stalled, id)
	}
	return left
}

// noteProgressLocked records what a heartbeat says about running commands.
func (f *Fleet) noteProgressLocked(s *session, running []*workerv1.Progress) {
	for _, p := range running {
		if c := s.pending[p.GetCommandId()]; c != nil && c.pieces != p.GetPieces() {
			c.pieces = p.GetPieces()
			c.movedAt = time.Now()
		}
	}
	if !s.hangsLocked() {
		return
	}
	s.stalled = slices.DeleteFunc(s.stalled, func(id uint64) bool {
		return !slices.ContainsFunc(running, func(p *workerv1.Progress) bool { return p.GetCommandId() == id })
	})
	if !s.hangsLocked() {
		f.notifyLocked()
	}
}

// hangsLocked reports whether a worker seems to hang on a command, of any job.
func (s *session) hangsLocked() bool { return len(s.stalled) > 0 }

// postLocked sends a command without waiting for its answer.
func (s *session) postLocked(c *workerv1.Command) {
	if !s.ended {
		s.commandLocked(c, 0)
	}
}

// jobPayload returns a payload of values that is freed with the job, or nil if values is nil.
func jobPayload[T any](e *execution, pack func([]T) []byte, values []T) *payload {
	if values == nil {
		return nil
	}
	return e.keepPayload(func() []byte { return pack(values) })
}

// keepPayload returns a payload that is freed with the job, or before by freePayloads. The execution must not have
// started, or the caller must be its running operation.
func (e *execution) keepPayload(pack func() []byte) *payload {
	p := e.newPayload(pack)
	e.payloads = append(e.payloads, p)
	return p
}

// freePayloads frees payloads of keepPayload. Only the running operation calls it.
func (e *execution) freePayloads(payloads ...*payload) {
	for _, p := range payloads {
		p.free()
	}
	e.payloads = slices.DeleteFunc(e.payloads, func(p *payload) bool { return slices.Contains(payloads, p) })
}

// payload is an array in a command. It is packed once for all workers, when the first command needs it. A large
// payload stays in the state of the fleet, where workers fetch it, until it is freed. A nil payload is valid and empty.
type payload struct {
	of     *execution
	pack   func() []byte
	once   sync.Once
	packed *workerv1.Payload

	// Fleet.mu guards these.
	data      []byte // of a large payload
	reference string
	freed     bool
}

func (e *execution) newPayload(pack func() []byte) *payload { return &payload{of: e, pack: pack} }

// message returns the payload as part of a command, or nil if p is nil.
func (p *payload) message() *workerv1.Payload {
	if p == nil {
		return nil
	}
	p.once.Do(func() {
		data := p.pack()
		if len(data) <= wire.InlineBytes {
			p.packed = &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}
			return
		}
		f := p.of.fleet
		f.mu.Lock()
		defer f.mu.Unlock()
		p.reference = fmt.Sprintf("payload-%d", f.state.newKeyLocked())
		if !p.freed { // otherwise nobody waits for the command that needs it
			p.data = data
			f.state.payloads[p.reference] = p
		}
		p.packed = &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: p.reference}}
	})
	return p.packed
}

// free removes a large payload. Its message must not be used afterward.
func (p *payload) free() {
	if p == nil {
		return
	}
	f := p.of.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	p.data, p.freed = nil, true
	delete(f.state.payloads, p.reference)
}
