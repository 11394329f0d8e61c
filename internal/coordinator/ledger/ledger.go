// Package ledger budgets the memory of a coordinator. Jobs, uploads, calls and downloads reserve large amounts before
// they allocate them, so that together they never take more than there is.
//
// Each of them is a Part with bytes of its own, which are always there for it. Beyond these, parts share the rest. The
// claims of one part get shared bytes in the order of arrival, so that small ones cannot keep out a large one. They do
// not wait for claims of other parts: a large job that waits for memory does not stop calls that still have room.
package ledger

import (
	"context"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// Ledger is the memory that parts share. It is safe for concurrent use.
type Ledger struct {
	shared int64

	// mu guards the fields below, and those of all parts and claims.
	mu      sync.Mutex
	used    int64    // of the shared bytes
	waiting []*Claim // in the order of arrival
}

// New returns a ledger whose parts share so many bytes.
func New(shared int64) *Ledger { return &Ledger{shared: shared} }

// Part is one of those that take memory. On a nil Part, Take, Claim and Reserve always succeed and Release does nothing;
// the other methods panic.
type Part struct {
	ledger *Ledger
	own    int64
	held   int64
}

// Part returns a new part with so many bytes of its own.
func (l *Ledger) Part(own int64) *Part { return &Part{ledger: l, own: own} }

// Own returns how many bytes the part has of its own.
func (p *Part) Own() int64 { return p.own }

// Most returns how many bytes the part may have if no other part takes shared ones.
func (p *Part) Most() int64 { return p.own + p.ledger.shared }

// Held returns how many bytes the part holds.
func (p *Part) Held() int64 {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return p.held
}

// Free returns how many bytes the part may take now.
func (p *Part) Free() int64 {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return max(0, p.own-p.held) + p.ledger.shared - p.ledger.used
}

// Contended reports whether somebody waits for bytes that the part holds.
func (p *Part) Contended() bool {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return slices.ContainsFunc(p.ledger.waiting, func(c *Claim) bool { return c.part == p || p.held > p.own })
}

// Take takes bytes if they are free, and reports whether they were. It passes those who wait, because its caller
// holds something already that would be lost. The caller gives the bytes back by Release.
func (p *Part) Take(bytes int64) bool {
	if p == nil {
		return true
	}
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return p.take(bytes)
}

// beyond returns how many shared bytes the part takes for another so many bytes. The ledger is locked.
func (p *Part) beyond(bytes int64) int64 { return max(0, p.held+bytes-p.own) - max(0, p.held-p.own) }

// take is Take with the ledger locked.
func (p *Part) take(bytes int64) bool {
	shared := p.beyond(bytes)
	if shared > p.ledger.shared-p.ledger.used {
		return false
	}
	p.ledger.used += shared
	p.held += bytes
	return true
}

// Release gives bytes back.
func (p *Part) Release(bytes int64) {
	if p != nil {
		p.ledger.change(func() { p.take(-bytes) })
	}
}

// change makes a change that may free bytes, and grants claims that wait for them.
func (l *Ledger) change(free func()) {
	l.mu.Lock()
	free()
	var granted []*Claim
	blocked := map[*Part]bool{} // an earlier claim of the part waits
	l.waiting = slices.DeleteFunc(l.waiting, func(c *Claim) bool {
		if (!blocked[c.part] || c.part.beyond(c.bytes) <= 0) && c.part.take(c.bytes) {
			c.held = true
			granted = append(granted, c)
			return true
		}
		blocked[c.part] = true
		return false
	})
	l.mu.Unlock()
	for _, c := range granted {
		if c.granted != nil {
			c.granted()
		}
	}
}

// Claim is a number of bytes that a part holds or waits for.
type Claim struct {
	part    *Part
	bytes   int64
	granted func()
	held    bool
}

// Claim claims bytes, but no more than the part may have. If the claim is not held at once, granted, which may be nil,
// is called when it is, without a lock of the ledger, but with those of whoever gave bytes back. The caller calls
// Release.
func (p *Part) Claim(bytes int64, granted func()) *Claim {
	c := &Claim{part: p, granted: granted, held: true}
	if p == nil {
		return c
	}
	c.bytes = min(bytes, p.Most())
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	behind := slices.ContainsFunc(p.ledger.waiting, func(other *Claim) bool { return other.part == p })
	if behind && p.beyond(c.bytes) > 0 || !p.take(c.bytes) {
		c.held = false
		p.ledger.waiting = append(p.ledger.waiting, c)
	}
	return c
}

// Held reports whether the claim is granted.
func (c *Claim) Held() bool {
	if c.part == nil {
		return true
	}
	c.part.ledger.mu.Lock()
	defer c.part.ledger.mu.Unlock()
	return c.held
}

// Release withdraws the claim, whether it is granted or not. It may be called again.
func (c *Claim) Release() {
	if c.part == nil {
		return
	}
	l := c.part.ledger
	l.change(func() {
		if c.held {
			c.part.take(-c.bytes)
		}
		c.held = false
		l.waiting = slices.DeleteFunc(l.waiting, func(other *Claim) bool { return other == c })
	})
}

// Reserve claims bytes and waits until they are granted. It fails only if ctx ends before that.
func (p *Part) Reserve(ctx context.Context, bytes int64) (*Claim, error) {
	granted := make(chan struct{})
	c := p.Claim(bytes, func() { close(granted) })
	if c.Held() {
		return c, nil
	}
	select {
	case <-granted:
		return c, nil
	case <-ctx.Done():
		c.Release()
		return nil, ctx.Err()
	}
}

// retryRefused is how many seconds a client that was refused should wait.
const retryRefused = 5

// TooManyLargeCalls returns the fault of a call that is refused because others hold the bytes that it needs.
func TooManyLargeCalls(bytes int64) *fault.Error {
	return fault.New(fault.ResourceExhausted, "TOO_MANY_LARGE_CALLS",
		"the call needs %s of the coordinator's memory, which jobs and other calls hold; try again when they have ended", text.Bytes(bytes)).RetryIn(retryRefused)
}
