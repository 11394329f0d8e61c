package simulation

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// network connects the processes of a simulation. Every frame takes a while to arrive, which depends on the seed, the
// two processes and its number: the virtual time, more than the scheduler of Go, decides what happens first.
type network struct {
	mu      sync.Mutex
	plan    *plan
	nodes   []*node
	serving []*node // in the order in which they began to serve
}

// node is a process in the network. One that is started again is another node.
type node struct {
	net    *network
	name   string
	conns  map[*conn]struct{}
	paused time.Time // nothing arrives or leaves before
	dead   bool
	killed func() // the process is to end: its machine, or the plan, has killed it

	backlog chan *conn // of a node that listens
	closed  chan struct{}
	close   func()
}

func newNetwork(p *plan) *network { return &network{plan: p} }

// add adds a process. A fault that kills it calls killed with n.mu held; if killed is nil, faults never kill it.
func (n *network) add(name string, killed func()) *node {
	d := &node{net: n, name: name, killed: killed, conns: map[*conn]struct{}{}, backlog: make(chan *conn, 1000),
		closed: make(chan struct{})}
	d.close = sync.OnceFunc(func() { close(d.closed) })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = append(n.nodes, d)
	return d
}

// serve lets dials reach a process.
func (n *network) serve(d *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serving = append(n.serving, d)
}

// server returns the live process that began to serve last, or nil. A coordinator that was deposed while it started
// serves for a moment after its successor; when it ends, dials reach the successor again. n.mu is held.
func (n *network) server() *node {
	n.serving = slices.DeleteFunc(n.serving, func(d *node) bool { return d.dead })
	if len(n.serving) == 0 {
		return nil
	}
	return n.serving[len(n.serving)-1]
}

// dial connects a process to the one that serves.
func (d *node) dial(ctx context.Context, _ string) (net.Conn, error) {
	n := d.net
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(n.plan.latency("dial "+d.name, n.plan.count("dial "+d.name))):
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	server := n.server()
	if d.dead || server == nil {
		return nil, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	}
	there := newPipe()
	back := newPipe()
	client := &conn{net: n, local: d, remote: server, in: back, out: there}
	accepted := &conn{net: n, local: server, remote: d, in: there, out: back}
	d.conns[client], server.conns[accepted] = struct{}{}, struct{}{}
	server.backlog <- accepted
	return client, nil
}

// Accept, Close and Addr make a node a net.Listener.
func (d *node) Accept() (net.Conn, error) {
	select {
	case c := <-d.backlog:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener, and the connections that nobody accepted.
func (d *node) Close() error {
	d.close()
	for {
		select {
		case c := <-d.backlog:
			c.Close()
		default:
			return nil
		}
	}
}

// Addr returns the node's name.
func (d *node) Addr() net.Addr { return address(d.name) }

// deliver sends a frame, or does to it what the plan says. n.mu is held.
func (n *network) deliver(c *conn, frame []byte, message bool) {
	if !message {
		c.out.send(frame, time.Now().Add(minLatency))
		return
	}
	link := c.local.name + ">" + c.remote.name
	number := n.plan.count(link)
	arrives := time.Now().Add(n.plan.latency(link, number))
	f := n.plan.onMessage(link, number)
	if !f.loses {
		c.out.send(frame, arrives.Add(f.delay))
	}
	switch f.what {
	case cut:
		breakOff(c)
	case halfOpen:
		n.silence(c)
	case pauseNode:
		victim := n.endOf(c, f.far)
		victim.paused = later(victim.paused, time.Now().Add(f.pause))
	case killNode:
		if victim := n.endOf(c, f.far); victim.killed == nil { // clients are not killed, but lose their connection
			breakOff(c)
		} else if f.loses {
			victim.kill(f.power)
		} else { // once the message has arrived
			time.AfterFunc(time.Until(arrives), func() { victim.crash(f.power) })
		}
	}
}

func breakOff(c *conn) {
	c.in.breakOff()
	c.out.breakOff()
}

func (n *network) endOf(c *conn, far bool) *node {
	if far {
		return c.remote
	}
	return c.local
}

// silence makes a connection half-open. n.mu is held.
func (n *network) silence(c *conn) {
	for _, d := range []*node{c.local, c.remote} {
		for other := range d.conns {
			if other.in == c.in || other.in == c.out {
				other.silent = true
				other.in.wake()
			}
		}
	}
}

// kill ends a process. Its peers are told at once, as the kernel does, unless its machine has lost its power. n.mu is
// held.
func (d *node) kill(power bool) {
	if d.dead {
		return
	}
	d.dead = true
	for c := range d.conns {
		if power {
			d.net.silence(c)
		}
		breakOff(c)
		c.silent = false // the process that ends sees it, of course
	}
	if d.killed != nil {
		d.killed()
	}
}

// crash is kill for callers that do not hold the mutex.
func (d *node) crash(power bool) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.kill(power)
}

// leave ends a process in order.
func (d *node) leave() {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.dead = true
}

// open names the ends of connections that are not closed.
func (n *network) open() (ends []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.nodes {
		for c := range d.conns {
			ends = append(ends, c.local.name+" to "+c.remote.name)
		}
	}
	return ends
}
