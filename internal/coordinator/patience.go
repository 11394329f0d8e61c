package coordinator

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/cleave-project/cleave/internal/security/identity"
)

// A call takes its place when its header has come, and its request follows, usually at once. Whoever sends headers alone would
// keep those places, and the memory of the headers, for nothing and for ever: a call whose request does not come ends, and
// sooner where others wait for its place.

// strangersPatience is how long a call that anyone may make waits for its request.
const strangersPatience = 5 * time.Second

var errNoRequest = errors.New("the request of the call did not come")

// awaiting is a call whose request has not come yet.
type awaiting struct {
	context.Context
	since   time.Time
	arrived func()
	giveUp  func()
}

type awaitingKey struct{}

// Err says why a call ended whose request did not come: the reader of its messages asks for it.
func (a *awaiting) Err() error {
	if errors.Is(context.Cause(a.Context), errNoRequest) {
		return context.DeadlineExceeded
	}
	return a.Context.Err()
}

// evictAfter is how old such a call must be for its place to go to another, where no other place is left.
const evictAfter = time.Second

// waiting are the calls at a doorway whose requests have not come, the oldest first.
type waiting struct {
	patience time.Duration

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

// evict ends the oldest call, and tells whether that gave back a place.
func (w *waiting) evict() bool {
	w.mu.Lock()
	oldest := w.calls.Front()
	if oldest == nil || time.Since(oldest.Value.(*awaiting).since) < w.patience {
		w.mu.Unlock()
		return false
	}
	a := w.calls.Remove(oldest).(*awaiting)
	w.mu.Unlock()
	a.giveUp()
	hold(a)()
	return true
}

// awaitRequest ends a call whose request does not come in time.
func (c *Coordinator) awaitRequest(ctx context.Context, call *tap.Info) context.Context {
	wait, caller := c.cfg.UploadStall, identity.FromContext(ctx)
	if methods[call.FullMethodName].needs == anyone {
		wait = min(wait, strangersPatience)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &awaiting{Context: ctx, since: time.Now()}
	a.giveUp = func() {
		cancel(errNoRequest)
		if caller.Name != "" { // strangers could fill the log
			p, _ := peer.FromContext(ctx)
			c.log.Warn("a call is given up: its request did not come", "method", knownMethod(call.FullMethodName), "caller", caller.Name,
				"peer", p.Addr.String(), "waited", time.Since(a.since).String())
		}
	}
	leave := func() {}
	if door := c.gate.doors[call.FullMethodName]; door != nil {
		leave = door.waiting.add(a)
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

// requestArrived tells that the request of a call has come.
func requestArrived(ctx context.Context) {
	if a, is := ctx.Value(awaitingKey{}).(*awaiting); is {
		a.arrived()
	}
}

// awaitFirst is a stream whose request has come when its first message has. Handlers of streams with many messages look after
// themselves, see receiveUpload.
func awaitFirst(stream grpc.ServerStream, info *grpc.StreamServerInfo) grpc.ServerStream {
	if info.IsClientStream {
		requestArrived(stream.Context())
		return stream
	}
	return &awaitedStream{ServerStream: stream}
}

type awaitedStream struct {
	grpc.ServerStream
	arrived bool
}

// RecvMsg implements grpc.ServerStream.
func (s *awaitedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if !s.arrived {
		requestArrived(s.Context())
		s.arrived = true
	}
	return err
}
