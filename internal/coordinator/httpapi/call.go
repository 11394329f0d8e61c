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
	closed bool
	inside *grpc.ClientConn // to the gRPC server; made by the first call
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

// Close closes the connection, and ends the calls that it made. None can begin afterward.
func (c *caller) Close() error {
	c.mu.Lock()
	c.closed = true
	inside := c.inside
	c.mu.Unlock()
	if inside != nil {
		inside.Close()
	}
	return c.Conn.Close()
}

// connection returns the connection to the gRPC server on which the client of a request is the caller.
func connection(ctx context.Context) *grpc.ClientConn {
	c := ctx.Value(callerKey{}).(*caller)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside == nil {
		c.inside = dialInside(c.client)
		if c.closed {
			c.inside.Close()
		}
	}
	return c.inside
}

func dialInside(client Conn) *grpc.ClientConn {
	inside, err := grpc.NewClient("passthrough:///coordinator",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return client.Dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		// the client of the request decides whether to retry
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err != nil {
		panic(err) // an option is not valid
	}
	return inside
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
	desc := &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: method.IsStreamingServer()}
	return connection(ctx).NewStream(ctx, desc, fullMethod(method))
}

// invoke makes a unary call.
func invoke(ctx context.Context, method protoreflect.MethodDescriptor, request proto.Message) (proto.Message, error) {
	response := newMessage(method.Output())
	return response, connection(ctx).Invoke(ctx, fullMethod(method), request, response)
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
