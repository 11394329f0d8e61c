package fleet_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// link is the network between a worker and the coordinator. It can be cut, paused and refused.
type link struct {
	mu      sync.Mutex
	conns   map[*linkConn]struct{}
	refused bool
	flowing chan struct{} // closed while bytes may pass
	bytes   atomic.Int64  // that passed, in both directions
	open    dialFunc
}

type dialFunc func(ctx context.Context, addr string) (net.Conn, error)

func newLink(open dialFunc) *link {
	l := &link{conns: map[*linkConn]struct{}{}, flowing: make(chan struct{}), open: open}
	close(l.flowing)
	return l
}

func (l *link) dial(ctx context.Context, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused {
		return nil, errors.New("the link is refused")
	}
	conn, err := l.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: conn, link: l, closed: make(chan struct{})}
	l.conns[c] = struct{}{}
	return c, nil
}

// cut breaks all connections. New ones can be made.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Conn.Close()
	}
	clear(l.conns)
}

// refuse breaks all connections and refuses new ones.
func (l *link) refuse() {
	l.mu.Lock()
	l.refused = true
	l.mu.Unlock()
	l.resume()
	l.cut()
}

// allow lets new connections be made again.
func (l *link) allow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = false
}

// pause holds back all bytes in both directions, as if the process were stopped.
func (l *link) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
		l.flowing = make(chan struct{})
	default: // already paused
	}
}

func (l *link) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
	default:
		close(l.flowing)
	}
}

type linkConn struct {
	net.Conn
	link   *link
	once   sync.Once
	closed chan struct{}
}

func (c *linkConn) waitFlowing() {
	c.link.mu.Lock()
	clear := c.link.flowing
	c.link.mu.Unlock()
	select {
	case <-clear:
	case <-c.closed:
	}
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.link.bytes.Add(int64(n))
	c.waitFlowing()
	return n, err
}

func (c *linkConn) Write(p []byte) (int, error) {
	c.waitFlowing()
	n, err := c.Conn.Write(p)
	c.link.bytes.Add(int64(n))
	return n, err
}

func (c *linkConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
