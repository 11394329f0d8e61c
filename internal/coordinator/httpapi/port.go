package httpapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cleave-project/cleave/internal/dial"
)

// A Port lets gRPC and HTTP share one listener. It ends TLS, looks at the first bytes of every connection, and hands
// the connection to the gRPC server or to the HTTP server.
//
// One HTTP server for everything, which passes gRPC on to grpc.Server.ServeHTTP, would not run the tap handle in which
// package gate authenticates callers, and takes 2.6 times the processor time for a small call (docs/adr/0017-http.md).
//
// The choice is made once per connection. An HTTP/2 connection goes to the gRPC server if its first request is a gRPC
// request, and to the HTTP server otherwise. The HTTP server must therefore also accept gRPC requests, which a proxy
// may send over the same connection.

// PortConfig configures a Port.
type PortConfig struct {
	// TLS returns the configuration of the next connection. It is nil if connections are not encrypted.
	TLS func() *tls.Config
	// Timeout is how long a client may take until it is known which protocol it speaks.
	Timeout time.Duration
	Logger  hclog.Logger
}

// Port accepts connections for a gRPC server and an HTTP server.
type Port struct {
	cfg        PortConfig
	listener   net.Listener
	grpc, http *dial.PipeListener

	mu       sync.Mutex
	unknown  map[net.Conn]struct{} // connections whose protocol is not known yet
	closed   bool
	deciding sync.WaitGroup
}

// NewPort returns a port on a listener, which it closes. Serve accepts connections.
func NewPort(listener net.Listener, cfg PortConfig) *Port {
	return &Port{cfg: cfg, listener: listener, grpc: dial.ListenPipe(listener.Addr()),
		http: dial.ListenPipe(listener.Addr()), unknown: map[net.Conn]struct{}{}}
}

// GRPC returns the listener of the gRPC server, which must use Credentials.
func (p *Port) GRPC() net.Listener { return p.grpc }

// HTTP returns the listener of the HTTP server. Its connections are of type *PortConn, already decrypted.
func (p *Port) HTTP() net.Listener { return p.http }

// Serve accepts connections until the port is closed or the listener fails. It returns net.ErrClosed or the error of
// the listener.
func (p *Port) Serve() error {
	defer p.Close()
	for pause := time.Duration(0); ; {
		conn, err := p.listener.Accept()
		if temporary, is := errors.AsType[net.Error](err); is && temporary.Timeout() || isExhausted(err) {
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			p.cfg.Logger.Warn("cannot accept a connection now, trying again", "error", err)
			time.Sleep(pause)
			continue
		}
		if err != nil {
			return p.reason(err)
		}
		pause = 0
		if !p.add(conn) {
			conn.Close()
			return net.ErrClosed
		}
		go p.decide(conn)
	}
}

// reason returns why the port accepts no more connections.
func (p *Port) reason(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	return err
}

// Close closes the listener and the connections that have not been handed over.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	for conn := range p.unknown {
		conn.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.grpc.Close()
	p.http.Close()
	p.deciding.Wait()
	return err
}

func (p *Port) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.unknown[conn] = struct{}{}
		p.deciding.Add(1)
	}
	return !p.closed
}

// decide hands a connection to the server of its protocol, or closes it.
func (p *Port) decide(conn net.Conn) {
	defer func() {
		p.mu.Lock()
		delete(p.unknown, conn)
		p.mu.Unlock()
		p.deciding.Done()
	}()
	timer := time.AfterFunc(p.cfg.Timeout, func() { conn.Close() })
	identified, err := p.identify(conn)
	if !timer.Stop() && err == nil {
		err = errTooSlow
	}
	if err != nil { // not louder, because anyone can cause it
		p.cfg.Logger.Debug("a connection is refused", "peer", conn.RemoteAddr().String(), "error", err)
		conn.Close()
		return
	}
	to := p.http
	if identified.grpc {
		to = p.grpc
	}
	_ = to.Put(context.Background(), identified) // fails if the port is closed
}

var errTooSlow = errors.New("the client did not say in time which protocol it speaks")

// identify ends TLS and determines the protocol of a connection.
func (p *Port) identify(conn net.Conn) (*PortConn, error) {
	in := bufio.NewReaderSize(conn, peekBytes)
	start, err := in.Peek(1)
	if err != nil {
		return nil, err
	}
	const handshake = 0x16 // first byte of a TLS connection
	c := &PortConn{Conn: conn, in: in, port: p}
	switch encrypted := start[0] == handshake; {
	case p.cfg.TLS != nil && encrypted:
		if err := c.endTLS(p.cfg.TLS()); err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(c.Conn, peekBytes)
	case p.cfg.TLS != nil:
		start, _ = in.Peek(in.Buffered())
		return nil, refuse(conn, start, "this port speaks TLS; use https:// instead of http://")
	case encrypted:
		// The client cannot read this, but programs recognize the beginning of an HTTP response and say so.
		return nil, refuse(conn, nil, "this port does not speak TLS; use http:// instead of https://")
	}
	return c, c.identify(in)
}

// peekBytes is the size of the buffer through which a protocol is identified. Servers read more than that at a time,
// and so past the buffer.
const peekBytes = 1 << 10

// endTLS does the handshake of TLS.
func (c *PortConn) endTLS(config *tls.Config) error {
	open := &heldOpen{Conn: &PortConn{Conn: c.Conn, in: c.in}}
	open.held.Store(true)
	secured := tls.Server(open, config)
	err := secured.HandshakeContext(context.Background())
	open.held.Store(false)
	if err != nil {
		linger(c.Conn)
		return err
	}
	c.Conn = secured
	state := secured.ConnectionState()
	c.info = &credentials.TLSInfo{State: state,
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return nil
}

// heldOpen is a connection that a failed handshake does not close.
type heldOpen struct {
	net.Conn
	held atomic.Bool
}

func (h *heldOpen) Close() error {
	if h.held.Load() {
		return nil
	}
	return h.Conn.Close()
}

// linger waits a moment for a rejected client to close its side. A client sends its first call before it knows
// whether its certificate is accepted. If we closed the connection with that call unread, the connection would be
// reset and the client would never learn why.
func linger(conn net.Conn) {
	const moment, most = time.Second, 64 << 10
	if half, is := conn.(interface{ CloseWrite() error }); is {
		_ = half.CloseWrite()
	}
	if conn.SetReadDeadline(time.Now().Add(moment)) == nil {
		_, _ = io.CopyN(io.Discard, conn, most)
	}
}

// Credentials returns the transport credentials of the gRPC server. They pass on what Port found out about the caller.
func (p *Port) Credentials() credentials.TransportCredentials {
	return handedOver{insecure.NewCredentials()}
}

// handedOver are credentials for connections of a Port, whose handshake is done.
type handedOver struct {
	credentials.TransportCredentials
}

func (h handedOver) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, is := conn.(*PortConn)
	if !is {
		return nil, nil, errors.New("port: the connection was not accepted by a Port")
	}
	if c.info == nil {
		return h.TransportCredentials.ServerHandshake(conn)
	}
	return conn, *c.info, nil
}

func (h handedOver) Clone() credentials.TransportCredentials { return h }
