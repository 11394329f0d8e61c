package observe

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// RequestIDHeader is the metadata key of the id of a request. Callers may set it. Every response and the log lines
// contain the id.
const RequestIDHeader = "x-request-id"

// maxRequestID limits the length of ids that callers choose, in bytes.
const maxRequestID = 128

type requestContextKey struct{}

// RequestID returns the id of the request that a context belongs to, or "" if there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestContextKey{}).(string)
	return id
}

// RequestIDFor returns the id of a request: the one that its caller sent if that is harmless, and otherwise a new one.
func RequestIDFor(sent string) string {
	if harmless(sent) {
		return sent
	}
	return uuid.NewString()
}

// withRequestID assigns an id to the request.
func withRequestID(ctx context.Context) (context.Context, metadata.MD) {
	sent := append(metadata.ValueFromIncomingContext(ctx, RequestIDHeader), "")
	id := RequestIDFor(sent[0])
	return context.WithValue(ctx, requestContextKey{}, id), metadata.Pairs(RequestIDHeader, id)
}

// harmless reports whether an id may appear in a log.
func harmless(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(id) > 0 && len(id) <= maxRequestID
}

// Unary assigns an id to a call and measures it. It must be the outermost interceptor, so that it sees the code that
// the caller sees.
func (c *Coordinator) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	began := time.Now()
	ctx, header := withRequestID(ctx)
	_ = grpc.SetHeader(ctx, header) // fails only if the call is over
	response, err := handler(ctx, request)
	c.request(info.FullMethod, began, status.Code(err))
	return response, err
}

// Stream is Unary for streams.
func (c *Coordinator) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	began := time.Now()
	ctx, header := withRequestID(stream.Context())
	_ = stream.SetHeader(header)
	named := &namedStream{ServerStream: stream, ctx: ctx}
	if kind := uploads[info.FullMethod]; kind != "" && c.counts() {
		named.received = c.metrics.uploadBytes.WithLabelValues(kind)
	}
	err := handler(server, named)
	c.request(info.FullMethod, began, status.Code(err))
	return err
}

// namedStream is a stream whose context carries the id of the request.
type namedStream struct {
	grpc.ServerStream
	ctx      context.Context
	received prometheus.Counter // counts bytes; nil if they are not counted
}

// Context implements grpc.ServerStream.
func (s *namedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s *namedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if part, is := message.(proto.Message); is && err == nil && s.received != nil {
		s.received.Add(float64(proto.Size(part)))
	}
	return err
}
