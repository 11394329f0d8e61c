package gate

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
)

// SlowReader is the reason of the error that ends a stream whose client does not read.
const SlowReader = "SLOW_READER"

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
func (g *Gate) TimeReaders(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if methods[info.FullMethod].takes == noSlot || !info.IsServerStream {
		return handler(server, stream)
	}
	return handler(server, &timedStream{ServerStream: stream, limit: g.cfg.SlowReader, log: g.cfg.Logger, sent: make(chan error, 1)})
}

// SendMsg sends in another goroutine, which ends at the latest when the handler returns and the stream ends.
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
		return fault.New(fault.Unavailable, SlowReader,
			"the client read nothing for %v, so the stream was closed; resume after the last message received", s.limit).RetryIn(retryCall)
	}
}
