// Package outbox serves the coordinator's end of a stream to a worker.
package outbox

import (
	"sync"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/signal"
)

// Outbox holds the messages for one stream until they are sent. Any goroutine may add messages or end the stream. It is
// safe for concurrent use.
type Outbox[M any] struct {
	wake  chan struct{} // signals that there are messages
	ended chan error    // receives the status with which to end the stream

	mu       sync.Mutex
	messages []*M
	over     bool // End was called
}

// New returns an empty outbox.
func New[M any]() *Outbox[M] {
	return &Outbox[M]{wake: make(chan struct{}, 1), ended: make(chan error, 1)}
}

// Push adds a message. It does nothing after End.
func (o *Outbox[M]) Push(m *M) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.messages = append(o.messages, m)
	signal.Wake(o.wake)
}

// Waiting returns how many messages wait to be sent.
func (o *Outbox[M]) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.messages)
}

// take returns the messages that wait, and removes them.
func (o *Outbox[M]) take() []*M {
	o.mu.Lock()
	defer o.mu.Unlock()
	messages := o.messages
	o.messages = nil
	return messages
}

// End ends the stream and drops the messages that wait. Only the first reason is kept.
func (o *Outbox[M]) End(reason error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.messages = true, nil
		o.ended <- reason
	}
}

// Handler says what happens on a stream.
type Handler[In, Out any] struct {
	Log      func(message string, args ...any) // logs a panic of Received, which breaks the stream
	Received func(m *In) (more bool)           // called with each message of the worker; false stops reading
	Sent     func(m *Out)                      // called after each message to the worker
	Broke    func(err error) error             // called with why the stream broke; returns the status to end it with
}

// Serve serves a stream, and returns the status to end it with: the reason given to End, or else what Broke returns.
// Other goroutines read and write, so that End takes effect even if a Send to a paused worker is blocked.
func Serve[In, Out any](stream grpc.BidiStreamingServer[In, Out], o *Outbox[Out], h Handler[In, Out]) error {
	broken := make(chan error, 1)
	go func() {
		broken <- fault.Guard(h.Log, func() error {
			for {
				if m, err := stream.Recv(); err != nil || !h.Received(m) {
					return err
				}
			}
		})
	}()
	go func() {
		for {
			select {
			case <-o.wake:
			case <-stream.Context().Done(): // at the latest when the handler returns
				return
			}
			for _, m := range o.take() {
				if stream.Send(m) != nil {
					return // Recv returns the error too
				}
				h.Sent(m)
			}
		}
	}()
	select {
	case reason := <-o.ended:
		return reason
	case err := <-broken:
		status := h.Broke(err)
		select {
		case reason := <-o.ended: // before it broke, so the worker is told this reason
			return reason
		default:
			return status
		}
	}
}
