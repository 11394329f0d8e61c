package simulation

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// conn is one end of a connection. The mutex of the network guards it.
type conn struct {
	net           *network
	local, remote *node
	in, out       *pipe
	splitter      splitter
	closed        bool
	silent        bool // half-open: nothing arrives any more, and no end is told
	deadline      time.Time
}

// pipe is one direction of a connection: what was sent and has yet to be read. The mutex of the network guards it.
type pipe struct {
	changed chan struct{} // closed and replaced at every change
	queue   []parcel
	last    time.Time // when the last parcel arrives: nothing overtakes
	err     error     // what the reader gets after the queue
}

// parcel is a frame under way.
type parcel struct {
	arrives time.Time
	data    []byte
}

func newPipe() *pipe { return &pipe{changed: make(chan struct{})} }

func (p *pipe) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// send puts a frame on its way.
func (p *pipe) send(frame []byte, arrives time.Time) {
	if arrives.Before(p.last) {
		arrives = p.last
	}
	p.last = arrives
	p.queue = append(p.queue, parcel{arrives, frame})
	p.wake()
}

// end makes the reader fail after it has read what is under way.
func (p *pipe) end(err error) {
	if p.err == nil {
		p.err = err
	}
	p.wake()
}

// breakOff makes the reader fail at once.
func (p *pipe) breakOff() {
	p.queue = nil
	p.end(syscall.ECONNRESET)
}

// next returns what a reader may read now, or when it should look again; a zero time means at the next change.
func (c *conn) next() (head *parcel, again time.Time, err error) {
	now := time.Now()
	p := c.in
	if c.closed {
		return nil, again, net.ErrClosed
	}
	if !c.silent && len(p.queue) > 0 {
		due := later(p.queue[0].arrives, later(c.local.paused, c.remote.paused))
		if !due.After(now) {
			return &p.queue[0], again, nil
		}
		again = due
	} else if !c.silent && p.err != nil {
		return nil, again, p.err
	}
	if !c.deadline.IsZero() {
		if !c.deadline.After(now) {
			return nil, again, os.ErrDeadlineExceeded
		}
		if again.IsZero() || c.deadline.Before(again) {
			again = c.deadline
		}
	}
	return nil, again, nil
}

// Read waits for the next frame.
func (c *conn) Read(into []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for {
		head, again, err := c.next()
		if err != nil {
			return 0, err
		}
		if head != nil {
			n := copy(into, head.data)
			if head.data = head.data[n:]; len(head.data) == 0 {
				c.in.queue = c.in.queue[1:]
			}
			return n, nil
		}
		changed := c.in.changed
		c.net.mu.Unlock()
		if again.IsZero() {
			<-changed
		} else {
			timer := time.NewTimer(time.Until(again))
			select {
			case <-changed:
			case <-timer.C:
			}
			timer.Stop()
		}
		c.net.mu.Lock()
	}
}

// Write sends each frame as the plan of faults says.
func (c *conn) Write(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if !c.silent && c.out.err != nil && c.out.err != io.EOF { //nolint:errorlint // set by this package
		return 0, c.out.err
	}
	c.splitter.split(p, func(frame []byte, message bool) {
		if !c.silent && c.out.err == nil {
			c.net.deliver(c, frame, message)
		}
	})
	return len(p), nil
}

// Close closes this end. The other end learns of it, unless the connection is half-open.
func (c *conn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	delete(c.local.conns, c)
	c.in.wake()
	if !c.silent {
		c.out.end(io.EOF)
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return address(c.local.name) }
func (c *conn) RemoteAddr() net.Addr { return address(c.remote.name) }

// SetReadDeadline wakes a reader at a time.
func (c *conn) SetReadDeadline(at time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.deadline = at
	c.in.wake()
	return nil
}

// SetWriteDeadline does nothing: writes never wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline calls SetReadDeadline.
func (c *conn) SetDeadline(at time.Time) error { return c.SetReadDeadline(at) }

type address string

func (a address) Network() string { return "simulated" }
func (a address) String() string  { return string(a) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
