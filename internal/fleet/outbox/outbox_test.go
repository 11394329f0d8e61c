package outbox

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
)

// stream is a stream that the test plays.
type stream struct {
	grpc.ServerStream
	ctx      context.Context
	said     chan *string
	told     []string
	accepts  chan struct{} // one value for each message that is accepted
	readFail error
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Recv() (*string, error) {
	select {
	case m, more := <-s.said:
		if !more {
			return nil, s.readFail
		}
		return m, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *stream) Send(m *string) error {
	select {
	case <-s.accepts:
		s.told = append(s.told, *m)
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

var errOver, errBroke = errors.New("over"), errors.New("broke")

// serve serves a stream as gRPC does: its context ends when the handler returns.
func serve(t *testing.T, o *Outbox[string], h Handler[string, string]) (s *stream, ended <-chan error) {
	s = &stream{said: make(chan *string), accepts: make(chan struct{}, 10), readFail: io.EOF}
	ctx, cancel := context.WithCancel(t.Context())
	s.ctx = ctx
	result := make(chan error, 1)
	go func() {
		defer cancel()
		result <- Serve(s, o, h)
	}()
	return s, result
}

// handler keeps what happens.
type handler struct {
	received, sent []string
	broke          []error
	onBreak        func()
}

func (h *handler) functions(more bool) Handler[string, string] {
	return Handler[string, string]{
		Log:      func(string, ...any) {},
		Received: func(m *string) bool { h.received = append(h.received, *m); return more },
		Sent:     func(m *string) { h.sent = append(h.sent, *m) },
		Broke: func(err error) error {
			h.broke = append(h.broke, err)
			if h.onBreak != nil {
				h.onBreak()
			}
			return errBroke
		},
	}
}

// Messages are sent in order, also those that were there before the stream.
func TestMessagesPassBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New[string]()
		h := &handler{}
		o.Push(new("a"))
		o.Push(new("b"))
		s, ended := serve(t, o, h.functions(true))
		s.accepts <- struct{}{}
		s.accepts <- struct{}{}
		s.said <- new("x")
		synctest.Wait()
		o.Push(new("c"))
		s.accepts <- struct{}{}
		synctest.Wait()
		if want := []string{"a", "b", "c"}; !slices.Equal(s.told, want) || !slices.Equal(h.sent, want) ||
			!slices.Equal(h.received, []string{"x"}) || o.Waiting() > 0 {
			t.Errorf("told %v, sent %v, received %v, %d wait", s.told, h.sent, h.received, o.Waiting())
		}
		close(s.said)
		if err := <-ended; !errors.Is(err, errBroke) || !slices.Equal(h.broke, []error{io.EOF}) {
			t.Errorf("the stream ended with %v, and broke by %v", err, h.broke)
		}
		synctest.Wait()
	})
}

// The end of a stream does not wait for a worker that accepts nothing, and drops what waits.
func TestAStreamEndsWhileASendIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New[string]()
		h := &handler{}
		s, ended := serve(t, o, h.functions(true))
		o.Push(new("a"))
		synctest.Wait()
		o.Push(new("b"))
		o.End(errOver)
		o.End(errBroke)
		o.Push(new("c"))
		if err := <-ended; !errors.Is(err, errOver) {
			t.Errorf("the stream ended with %v", err)
		}
		synctest.Wait()
		if len(s.told) > 0 || o.Waiting() > 0 || len(h.broke) > 0 {
			t.Errorf("told %v, %d wait, broke by %v", s.told, o.Waiting(), h.broke)
		}
	})
}

// A worker whose stream was ended is told why, even if reading has stopped too.
func TestTheReasonOfAnEndWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New[string]()
		h := &handler{}
		h.onBreak = func() { o.End(errOver) }
		s, ended := serve(t, o, h.functions(false))
		s.said <- new("x")
		if err := <-ended; !errors.Is(err, errOver) || !slices.Equal(h.broke, []error{nil}) {
			t.Errorf("the stream ended with %v, and broke by %v", err, h.broke)
		}
		synctest.Wait()
	})
}
