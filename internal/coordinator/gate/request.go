package gate

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// A call takes its slot when its header arrives. Its request usually follows at once. A client that sent only headers
// would hold slots and memory forever, so a call whose request does not arrive in time ends, and sooner if other
// calls need its slot.

// anonymousTimeout is how long a call that needs no credentials may wait for its request.
const anonymousTimeout = 5 * time.Second

var errNoRequest = errors.New("the request of the call did not arrive")

// awaiting is the context of a call whose request has not arrived yet.
type awaiting struct {
	context.Context
	since   time.Time
	arrived func()
	giveUp  func()
}

type awaitingKey struct{}

// Err returns DeadlineExceeded for a call whose request did not arrive. gRPC asks for it when it reads the request.
func (a *awaiting) Err() error {
	if errors.Is(context.Cause(a.Context), errNoRequest) {
		return context.DeadlineExceeded
	}
	return a.Context.Err()
}

// evictAfter is how long a call must have waited for its request before it loses its slot to another call.
const evictAfter = time.Second

// waiting lists the calls of a limiter whose requests have not arrived, the oldest first.
type waiting struct {
	evictAfter time.Duration

	mu    sync.Mutex
	calls list.List // of *awaiting
}

func (w *waiting) add(a *awaiting) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.calls.PushBack(a)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls.Remove(at)
	}
}

// evict ends the oldest call and reports whether that freed a slot.
func (w *waiting) evict() bool {
	w.mu.Lock()
	oldest := w.calls.Front()
	if oldest == nil || time.Since(oldest.Value.(*awaiting).since) < w.evictAfter {
		w.mu.Unlock()
		return false
	}
	a := w.calls.Remove(oldest).(*awaiting)
	w.mu.Unlock()
	a.giveUp()
	keepSlot(a)()
	return true
}

// awaitRequest ends a call whose request does not arrive in time.
func (g *Gate) awaitRequest(ctx context.Context, call *tap.Info) context.Context {
	wait, caller := g.cfg.RequestTimeout, identity.FromContext(ctx)
	if methods[call.FullMethodName].needs == anyone {
		wait = min(wait, anonymousTimeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &awaiting{Context: ctx, since: time.Now()}
	a.giveUp = func() {
		cancel(errNoRequest)
		if caller.Name != "" { // otherwise anyone could fill the log
			p, _ := peer.FromContext(ctx)
			g.cfg.Logger.Warn("closing a call whose request never arrived", "method", knownMethod(call.FullMethodName),
				"caller", caller.Name,
				"peer", p.Addr.String(), "waited", time.Since(a.since).String())
		}
	}
	leave := func() {}
	if l := g.limiterOf(call.FullMethodName); l != nil {
		leave = l.waiting.add(a)
	}
	timer := time.AfterFunc(wait, a.giveUp)
	ended := context.AfterFunc(ctx, func() {
		timer.Stop()
		leave()
	})
	a.arrived = func() {
		timer.Stop()
		if ended() {
			leave()
		}
	}
	return context.WithValue(a, awaitingKey{}, a)
}

// requestArrived notes that the request of a call has arrived.
func requestArrived(ctx context.Context) {
	if a, is := ctx.Value(awaitingKey{}).(*awaiting); is {
		a.arrived()
	}
}

// awaitedStream is a stream whose request arrives with its first message.
type awaitedStream struct {
	grpc.ServerStream
	gate    *Gate
	arrived bool
	release func() // gives the memory of the request back
}

func (s *awaitedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if s.arrived {
		return err
	}
	requestArrived(s.Context())
	s.arrived = true
	if err != nil {
		return err
	}
	release, err := s.gate.holdRequest(message)
	if err == nil {
		s.release = release
	}
	return err
}

// timedStream ends a stream whose client takes too long to accept a message. gRPC buffers up to 64 KiB of a stream
// and then waits for the client as long as the connection lasts. The handler would hold its memory for as long.
type timedStream struct {
	grpc.ServerStream
	limit time.Duration
	log   hclog.Logger
	timer *time.Timer
	sent  chan error
}

// TimeReaders is an interceptor that ends streams whose clients do not read.
func (g *Gate) TimeReaders(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	if methods[info.FullMethod].takes == noSlot || !info.IsServerStream {
		return handler(server, stream)
	}
	return handler(server, &timedStream{ServerStream: stream, limit: g.cfg.SlowReader, log: g.cfg.Logger,
		sent: make(chan error, 1)})
}

// SendMsg sends in another goroutine, because only the end of the handler ends a send that waits for the client. That
// also ends the goroutine.
func (s *timedStream) SendMsg(message any) error {
	go func() {
		s.sent <- fault.Guard(s.log.Error, func() error { return s.ServerStream.SendMsg(message) })
	}()
	if s.timer == nil {
		s.timer = time.NewTimer(s.limit)
	} else {
		s.timer.Reset(s.limit)
	}
	select {
	case err := <-s.sent:
		s.timer.Stop()
		return err
	case <-s.timer.C:
		return fault.New(fault.Unavailable, queue.SlowReader,
			"the client read nothing for %v, so the stream was closed; resume after the last message received",
			s.limit).RetryIn(retryCall)
	}
}
