package coordinator

import (
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
)

// reasonSlowReader is the reason of a stream that was ended because its reader did not take what was sent.
const reasonSlowReader = "SLOW_READER"

// timedStream gives a stream up whose reader takes too long to accept a message. gRPC holds up to 64 KiB for a stream and
// then waits for its reader, as long as the connection lasts; handlers would hold what they send for as long.
type timedStream struct {
	grpc.ServerStream
	limit time.Duration
	timer *time.Timer
	sent  chan error
}

// timeReaders is a stream interceptor that gives up slow readers of the streams that servers send.
func (c *Coordinator) timeReaders(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if c.gate.doors[info.FullMethod] == nil || !info.IsServerStream {
		return handler(server, stream)
	}
	return handler(server, &timedStream{ServerStream: stream, limit: c.cfg.Limits.SlowReader, sent: make(chan error, 1)})
}

// SendMsg sends in another goroutine. One that is given up ends when the handler returns, which ends the stream.
func (s *timedStream) SendMsg(message any) error {
	go func() { s.sent <- s.ServerStream.SendMsg(message) }()
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
		return fault.New(fault.Unavailable, reasonSlowReader,
			"the reader of this stream took nothing for %v, so that it is ended; read faster, and go on from the last message", s.limit).RetryIn(retryCall)
	}
}
