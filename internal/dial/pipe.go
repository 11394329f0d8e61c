package dial

import (
	"context"
	"net"
	"sync"
)

// PipeListener is a net.Listener that connects clients and servers within one process. Its connections come from Dial
// and Put. It has no backlog: both wait until the server accepts. It is safe for concurrent use.
type PipeListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// ListenPipe returns a listener that has the given address.
func ListenPipe(addr net.Addr) *PipeListener {
	l := &PipeListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial returns the client's end of a new connection. It is not buffered: a write returns once the other end has read
// all of it.
func (l *PipeListener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	if err := l.Put(ctx, server); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// Put hands a connection that somebody else opened to the server. If it fails, it closes the connection.
func (l *PipeListener) Put(ctx context.Context, conn net.Conn) error {
	err := net.ErrClosed
	select {
	case l.conns <- conn:
		return nil
	case <-l.closed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	conn.Close()
	return err
}

// Accept implements net.Listener.
func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It does not close connections that were accepted.
func (l *PipeListener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *PipeListener) Addr() net.Addr { return l.addr }

// PipeAddr is the address of a listener that cannot be reached from other processes.
type PipeAddr struct{}

// Network implements net.Addr.
func (PipeAddr) Network() string { return "pipe" }

// String implements net.Addr.
func (PipeAddr) String() string { return "pipe" }
