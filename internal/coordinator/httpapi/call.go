package httpapi

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// caller is the connection of an HTTP client, and makes gRPC calls on behalf of that client.
type caller struct {
	net.Conn
	client Conn

	mu     sync.Mutex
	inside *grpc.ClientConn // to the gRPC server; nil before the first call
	closed bool
}

type callerKey struct{}

// callers is a listener whose connections are callers.
type callers struct{ net.Listener }

func (c callers) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &caller{Conn: conn, client: conn.(Conn)}, nil
}

// Close closes the connection, and ends the calls that it made.
func (c *caller) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.inside != nil {
		c.inside.Close()
		c.inside = nil
	}
	return c.Conn.Close()
}

// serverName returns the name by which the client of a TLS connection called the server, or "".
func (c *caller) serverName() string {
	if state := c.client.TLS(); state != nil {
		return state.ServerName
	}
	return ""
}

// connection returns the connection to the gRPC server on which the client of a request is the caller.
func connection(ctx context.Context) (*grpc.ClientConn, error) {
	c := ctx.Value(callerKey{}).(*caller)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, context.Canceled
	case c.inside != nil:
		return c.inside, nil
	}
	conn, err := grpc.NewClient("passthrough:///coordinator",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.client.Dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), // the client of the request decides whether to retry
	)
	c.inside = conn
	return conn, err
}

const (
	maxResponseBytes = 1 << 30 // the server limits its messages itself
	windowBytes      = 1 << 20
)

// forwarded lists the headers of an HTTP request that its gRPC call carries too.
var forwarded = []string{"Authorization", "X-Request-Id", "Traceparent", "Tracestate"}

// withHeaders returns a context for calls that carry the headers of a request.
func withHeaders(ctx context.Context, header http.Header) context.Context {
	md := metadata.MD{}
	for _, name := range forwarded {
		if values := header.Values(name); len(values) > 0 {
			md.Set(strings.ToLower(name), values...)
		}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// fullMethod returns the name of a method as gRPC uses it.
func fullMethod(method protoreflect.MethodDescriptor) string {
	return "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
}

// open starts a streaming call.
func open(ctx context.Context, method protoreflect.MethodDescriptor) (grpc.ClientStream, error) {
	conn, err := connection(ctx)
	if err != nil {
		return nil, err
	}
	desc := &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: method.IsStreamingServer()}
	return conn.NewStream(ctx, desc, fullMethod(method))
}

// invoke makes a unary call.
func invoke(ctx context.Context, method protoreflect.MethodDescriptor, request proto.Message) (proto.Message, error) {
	conn, err := connection(ctx)
	if err != nil {
		return nil, err
	}
	response := newMessage(method.Output())
	return response, conn.Invoke(ctx, fullMethod(method), request, response)
}

// request starts a server-streaming call.
func request(ctx context.Context, method protoreflect.MethodDescriptor, in proto.Message) (grpc.ClientStream, error) {
	stream, err := open(ctx, method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(in); err == nil {
		_ = stream.CloseSend()
	} // an error shows up when the response is read
	return stream, nil
}
