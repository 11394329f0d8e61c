package clustertest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy is a link between a worker and the coordinator: it passes bytes on until it is cut or frozen.
type proxy struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	frozen bool
	conns  []net.Conn
	after  int    // bytes, after which fault is called
	fault  func() // nil: nothing is to happen
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	return startProxyAt(t, "127.0.0.1:0", to)
}

func startProxyAt(t testing.TB, at, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	p := &proxy{listener: must(t, listener, err), to: to}
	go p.serve()
	t.Cleanup(func() { listener.Close(); p.cut() })
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		go p.pass(near, far)
		go p.pass(far, near)
	}
}

// pass passes bytes on in one direction. A frozen link takes them and passes none.
func (p *proxy) pass(to, from net.Conn) {
	_, _ = io.Copy(writerFunc(func(data []byte) (int, error) {
		p.mu.Lock()
		frozen, fault := p.frozen, p.fault
		if p.after -= len(data); p.after > 0 || fault == nil {
			fault = nil
		} else {
			p.fault = nil
		}
		p.mu.Unlock()
		if fault != nil {
			fault()
		}
		if frozen {
			return len(data), nil
		}
		return to.Write(data)
	}), from)
	to.Close()
}

// cut closes all connections. New ones can be made.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// whenPassed calls fault, once, when so many more bytes have come, before they are passed on.
func (p *proxy) whenPassed(bytes int, fault func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after, p.fault = bytes, fault
}

// freeze loses all bytes from now on, on connections that stay open.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// thaw ends a freeze. The bytes that were lost are missing on the connections, which are cut.
func (p *proxy) thaw() {
	p.mu.Lock()
	p.frozen = false
	p.mu.Unlock()
	p.cut()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }
