// Package pipe connects clients and servers within one process.
package pipe

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections come from Dial and Put. It has no backlog: both wait until the server
// accepts. It is safe for concurrent use.
type Listener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// Listen returns a listener that has the given address.
func Listen(addr net.Addr) *Listener {
	l := &Listener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial returns the client's end of a new connection. It is not buffered: a write returns once the other end has read
// all of it.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	if err := l.Put(ctx, server); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// Put hands a connection that somebody else opened to the server. If it fails, it closes the connection.
func (l *Listener) Put(ctx context.Context, conn net.Conn) error {
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
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It does not close connections that were accepted.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }

// Addr is the address of a listener that cannot be reached from other processes.
type Addr struct{}

// Network implements net.Addr.
func (Addr) Network() string { return "pipe" }

// String implements net.Addr.
func (Addr) String() string { return "pipe" }
