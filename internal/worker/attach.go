package worker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

// errFarewell ends the last stream: the worker may exit.
var errFarewell = errors.New("worker: farewell")

// welcomeTimeout is how long a coordinator may take to answer a hello, and triesTimeout is the same if there are
// several coordinators to try.
const (
	welcomeTimeout = 10 * time.Second
	triesTimeout   = 3 * time.Second
)

var (
	errSilent  = errors.New("the coordinator is silent")
	errDeposed = errors.New("the coordinator is no longer the leader: this worker has seen a newer one")
)

// received is one message, or the error that ended the stream.
type received struct {
	message *workerv1.AttachResponse
	err     error
}

// attach runs one stream until it breaks. When ctx ends, the worker asks to leave and keeps the stream until it may,
// at most LeaveTimeout. welcomed reports whether the coordinator sent a welcome.
func (w *worker) attach(ctx context.Context) (welcomed bool, err error) {
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	client, err := w.leader.client()
	if err != nil {
		return false, err
	}
	a := &attachment{worker: w, client: client, end: cancel, silenceLimit: welcomeTimeout}
	if w.leader.Count() > 1 {
		a.silenceLimit = triesTimeout
	}
	first := w.hello(ctx) // before the coordinator's time begins, because a name server may be slow
	// Limits the time to the welcome and, with several coordinators, every silence after it.
	a.silence = newSilence(a.silenceLimit, &w.heard, func() { cancel(errSilent) })
	defer a.silence.stop()
	if a.stream, err = client.Attach(streamCtx); err != nil {
		return false, cmp.Or(context.Cause(streamCtx), err)
	}
	if err := a.stream.Send(first); err != nil {
		_, err := a.stream.Recv() // returns the reason
		return false, cmp.Or(context.Cause(streamCtx), err)
	}
	inbound := make(chan received)
	receiverDone := make(chan struct{})
	go func() {
		defer close(receiverDone)
		receive(streamCtx, a.stream, inbound)
	}()
	defer func() { cancel(nil); <-receiverDone }()
	defer w.attached.Store(false)
	err = a.serve(streamCtx, ctx, inbound)
	return a.welcomed, err
}

// attachment is one stream to a coordinator. Only the goroutine of attach uses it.
type attachment struct {
	*worker
	client       workerv1.WorkerServiceClient
	stream       workerv1.WorkerService_AttachClient
	end          context.CancelCauseFunc // ends the stream
	welcomed     bool                    // the coordinator sent a welcome; the worker has a session from then on
	silence      *silence
	silenceLimit time.Duration
	heartbeats   <-chan time.Time // ticks when one is due; nil until the welcome sets the interval
	sequence     uint64           // number of heartbeats sent
	answers      <-chan struct{}  // signals that there are answers to send
}

// serve handles what arrives and sends what there is to say, until the stream ends. When the context stay ends, the
// worker asks to leave.
func (a *attachment) serve(ctx, stay context.Context, inbound <-chan received) error {
	for leaving := stay.Done(); ; {
		var messages []*workerv1.AttachRequest
		// Nothing in this loop waits for a computation, so heartbeats are sent on time.
		select {
		case in := <-inbound:
			if err := a.handle(in); err != nil {
				return err
			}
		case <-a.heartbeats:
			messages = append(messages, a.heartbeat())
		case <-a.answers:
			for _, answer := range a.session.takeAnswers() {
				messages = append(messages,
					&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: answer}})
			}
		case <-leaving:
			leaving = nil
			if !a.welcomed {
				return stay.Err()
			}
			a.log.Info("leaving: waiting for the tiles to be placed elsewhere")
			timer := time.AfterFunc(a.cfg.LeaveTimeout, func() { a.end(stay.Err()) })
			defer timer.Stop()
			messages = append(messages,
				&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Leaving{Leaving: &workerv1.Leaving{}}})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, m := range messages {
			if a.stream.Send(m) != nil {
				// Recv returns why the stream ended. The answers are not lost: the coordinator repeats commands that
				// it got no answer to.
				return streamError(ctx, inbound)
			}
		}
	}
}

// handle handles one message, or the error that ended the stream, which it returns.
func (a *attachment) handle(in received) error {
	if a.welcomed && a.leader.Count() > 1 { // with a single coordinator there is nothing to do but wait
		a.silence.reset(a.silenceLimit)
	}
	switch m := in.message.GetMessage().(type) {
	case *workerv1.AttachResponse_Welcome:
		a.silence.stop()
		if m.Welcome.GetTerm() < a.term {
			a.welcomed = false
			return errDeposed
		}
		a.welcomed = true
		a.attached.Store(true)
		a.cfg.Observe.Attached()
		a.welcome(a.client, m.Welcome)
		a.silenceLimit = time.Duration(max(1, m.Welcome.GetSilenceMillis())) * time.Millisecond
		a.answers = a.session.wake
		signal.Wake(a.session.wake) // there may be answers that no stream has sent
		a.heartbeats = time.Tick(time.Duration(max(1, m.Welcome.GetHeartbeatMillis())) * time.Millisecond)
	case *workerv1.AttachResponse_Command:
		if a.welcomed {
			a.session.accept(m.Command)
		}
	case *workerv1.AttachResponse_Farewell:
		return errFarewell
	}
	return in.err
}

// heartbeat returns the next heartbeat.
func (a *attachment) heartbeat() *workerv1.AttachRequest {
	a.sequence++
	a.cfg.Observe.Heartbeat()
	return &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{
		Sequence: a.sequence, Running: a.session.progress(),
		StatusMessage: cmp.Or(a.exchange.StatusMessage(), a.cfg.Warning),
	}}}
}

// receive forwards messages until the stream ends.
func receive(ctx context.Context, stream workerv1.WorkerService_AttachClient, to chan<- received) {
	for {
		m, err := stream.Recv()
		select {
		case to <- received{message: m, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// streamError waits for the error that ended a stream.
func streamError(ctx context.Context, inbound <-chan received) error {
	for {
		select {
		case in := <-inbound:
			if in.err != nil {
				return in.err
			}
			if in.message.GetFarewell() != nil {
				return errFarewell
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hello returns the first message of a stream. If the worker serves others, it may have to wait for a name server to
// know its own address, at most until ctx ends.
func (w *worker) hello(ctx context.Context) *workerv1.AttachRequest {
	h := &workerv1.Hello{
		ProtocolVersion: wire.WorkerProtocol,
		Name:            w.cfg.Name,
		SoftwareVersion: w.cfg.Version,
		NumericClass:    kernel.NumericClass,
		Threads:         uint32(w.cfg.Threads),
		MemoryBytes:     w.cfg.MemoryBytes,
		Term:            w.term,
		Offers:          w.kept.offers(),
		PeerAddress:     w.exchange.Address(ctx, strings.TrimPrefix(w.leader.Current, "passthrough:///")),
		TableRules:      wire.TableRules,
		FetchesRows:     !w.cfg.sharesMemory,
	}
	if w.session != nil {
		h.SessionId = w.session.id
		h.Offers = append(h.Offers, w.session.offers()...)
	}
	return &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: h}}
}

// welcome resumes the session or begins a new one. It keeps the jobs of the old session if a newer coordinator leads,
// and drops them if the same one does.
func (w *worker) welcome(client workerv1.WorkerServiceClient, m *workerv1.Welcome) {
	w.term = m.GetTerm()
	w.exchange.SetKey(m.GetPeerKey())
	if w.session != nil && m.GetResumed() && m.GetSessionId() == w.session.id {
		w.log.Info("attached again", "session", m.GetSessionId())
		return
	}
	switch {
	case w.session == nil:
	case m.GetTerm() > w.session.term:
		w.log.Info("another coordinator leads: keeping the tiles for it", "session", w.session.id, "for", w.cfg.KeepFor)
		w.kept.add(w.session.endKeeping(), w.cfg.KeepFor)
	default:
		w.log.Warn("the old session is over: dropping its tiles", "session", w.session.id)
		w.endSession()
	}
	w.log.Info("attached", "session", m.GetSessionId(), "coordinator", w.leader.Current, "term", m.GetTerm())
	w.session = newSession(w, client, m)
}

// endSession drops all jobs. Their computations stop soon after; Run waits for them before it returns.
func (w *worker) endSession() {
	if w.session != nil {
		w.session.end()
		w.session = nil
	}
}
