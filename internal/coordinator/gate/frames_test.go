package gate

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// rawClient is a client that writes frames to a socket.
type rawClient struct {
	*http2.Framer
	conn  net.Conn
	check []byte // the header block of a health check
}

// dialRaw starts a server behind a gate on a socket, and connects to it.
func dialRaw(t *testing.T) *rawClient {
	t.Helper()
	g, err := Open(Config{
		Security:       Security{Serve: credentials.Serve{Insecure: true}},
		Limits:         Limits{Calls: 10, ShortCalls: 10, Streams: 10},
		RequestTimeout: time.Hour, SlowReader: time.Hour, Logger: hclog.NewNullLogger(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(g.ServerOptions(insecure.NewCredentials()), grpc.ChainUnaryInterceptor(g.HoldUnary),
		grpc.ChainStreamInterceptor(g.HoldStream))...)
	healthv1.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		<-ended
		g.Close()
	})
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c := &rawClient{Framer: http2.NewFramer(conn, conn), conn: conn}
	if err := c.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", healthv1.Health_Watch_FullMethodName},
		{":authority", "test"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			t.Fatal(err)
		}
	}
	c.check = block.Bytes()
	return c
}

// reads reads what the server sends until it closes the connection, and closes the channel then. The channel has a
// value for each answer to a ping.
func (c *rawClient) reads() <-chan struct{} {
	answers := make(chan struct{}, 1)
	go func() {
		defer close(answers)
		for {
			frame, err := c.ReadFrame()
			if err != nil {
				return
			}
			if ping, is := frame.(*http2.PingFrame); is && ping.IsAck() {
				answers <- struct{}{}
			}
		}
	}()
	return answers
}

func TestFloodsOfFramesEndTheConnection(t *testing.T) {
	const endless = 1 << 20
	stream := func(at int) uint32 { return uint32(2*at + 1) }
	reset := func(c *rawClient, at int) error {
		return errors.Join(
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream(at), BlockFragment: c.check, EndHeaders: true}),
			c.WriteRSTStream(stream(at), http2.ErrCodeCancel))
	}
	for name, c := range map[string]struct {
		count   int
		write   func(c *rawClient, at int) error
		allowed bool
	}{
		"empty continuations": {count: endless, write: func(c *rawClient, at int) error {
			if at == 0 {
				return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.check})
			}
			return c.WriteContinuation(1, at == endless-1, nil)
		}},
		"rapid resets": {count: endless, write: reset},
		"some resets":  {count: maxIdleFrames / 2, write: reset, allowed: true},
		"priorities": {count: endless, write: func(c *rawClient, _ int) error {
			return c.WritePriority(1, http2.PriorityParam{StreamDep: 3})
		}},
		"empty data": {count: endless, write: func(c *rawClient, at int) error {
			if at == 0 {
				return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.check, EndHeaders: true})
			}
			return c.WriteData(1, false, nil)
		}},
		"a header in pieces": {count: 9, allowed: true, write: func(c *rawClient, at int) error {
			if at == 0 {
				return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.check[:1]})
			}
			if at == 8 {
				return c.WriteContinuation(1, true, c.check[8:])
			}
			return c.WriteContinuation(1, false, c.check[at:at+1])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dialRaw(t)
			answers := client.reads()
			var err error
			for at := 0; at < c.count && err == nil; at++ {
				err = c.write(client, at)
			}
			if err == nil {
				err = client.WritePing(false, [8]byte{42})
			}
			_, answered := <-answers
			if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
				t.Fatal("the server neither reads nor closes the connection")
			}
			if answered != c.allowed {
				t.Errorf("the server answers afterwards: %v (%v)", answered, err)
			}
		})
	}
}
