package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// A Ledger budgets the memory of a coordinator. Jobs, uploads, calls and downloads reserve large amounts before
// they allocate them, so that together they never take more than there is.
//
// Each of them is a Part with bytes of its own, which are always there for it. Beyond these, parts share the rest. The
// claims of one part get shared bytes in the order of arrival, so that small ones cannot keep out a large one. Claims of
// different parts do not wait for each other, with one exception: while the next job waits only for what other parts
// hold, later claims of these parts wait behind it, so that a steady stream of calls cannot keep out a large job. A job
// that has to wait for another job to end anyway holds up no call, and a call that waits never holds up a job.

// Ledger is the memory that parts share. It is safe for concurrent use.
type Ledger struct {
	shared int64

	// mu guards the fields below, and those of all parts and claims.
	mu      sync.Mutex
	used    int64    // of the shared bytes
	waiting []*Claim // in the order of arrival
}

// NewLedger returns a ledger whose parts share so many bytes.
func NewLedger(shared int64) *Ledger { return &Ledger{shared: shared} }

// Part is one of the users of the memory, such as jobs or downloads.
type Part struct {
	ledger *Ledger
	jobs   bool // claims of other parts wait behind its next one
	own    int64
	held   int64
}

// Part returns a new part with so many bytes of its own.
func (l *Ledger) Part(own int64) *Part { return &Part{ledger: l, own: own} }

// JobsPart returns the part of jobs, behind which others wait. It has no bytes of its own.
func (l *Ledger) JobsPart() *Part { return &Part{ledger: l, jobs: true} }

// Own returns how many bytes the part has of its own.
func (p *Part) Own() int64 { return p.own }

// Max returns how many bytes the part may have if no other part takes shared ones.
func (p *Part) Max() int64 { return p.own + p.ledger.shared }

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
func (p *Part) Take(bytes int64) (took bool) {
	p.ledger.update(func() { took = p.take(bytes) })
	return took
}

// sharedNeeded returns how many shared bytes the part needs to hold more bytes. The ledger is locked.
func (p *Part) sharedNeeded(bytes int64) int64 {
	return max(0, p.held+bytes-p.own) - max(0, p.held-p.own)
}

// take is Take with the ledger locked.
func (p *Part) take(bytes int64) bool {
	shared := p.sharedNeeded(bytes)
	if shared > p.ledger.shared-p.ledger.used {
		return false
	}
	p.ledger.used += shared
	p.held += bytes
	return true
}

// Release gives bytes back.
func (p *Part) Release(bytes int64) { p.ledger.update(func() { p.take(-bytes) }) }

// update makes a change, and tells those whose claims can be granted then.
func (l *Ledger) update(change func()) {
	l.mu.Lock()
	change()
	granted := l.grant()
	l.mu.Unlock()
	for _, tell := range granted {
		tell()
	}
}

// grant grants the waiting claims for which there are bytes, and returns whom to tell. The ledger is locked.
func (l *Ledger) grant() (tell []func()) {
	blocked := map[*Part]bool{} // parts with an earlier claim that waits
	allBlocked := false         // the next job waits only for what other parts hold
	l.waiting = slices.DeleteFunc(l.waiting, func(c *Claim) bool {
		mayPass := !allBlocked && !blocked[c.part] || c.part.sharedNeeded(c.bytes) <= 0
		if c.held = mayPass && c.part.take(c.bytes); c.held {
			if c.granted != nil {
				tell = append(tell, c.granted)
			}
			return true
		}
		allBlocked = allBlocked || c.part.jobs && !blocked[c.part] && c.part.held+c.bytes <= c.part.Max()
		blocked[c.part] = true
		return false
	})
	return tell
}

// Claim is a number of bytes that a part holds or waits for.
type Claim struct {
	part    *Part
	bytes   int64
	granted func()
	held    bool
}

// Claim claims bytes, but no more than the part may have. If the claim is not held at once, granted, which may be nil,
// is called once it is held. The ledger is not locked then, but the caller of Take or Release may hold locks of its own.
// The caller calls Release.
func (p *Part) Claim(bytes int64, granted func()) *Claim {
	c := &Claim{part: p, bytes: min(bytes, p.Max())}
	p.ledger.mu.Lock()
	p.ledger.waiting = append(p.ledger.waiting, c)
	others := p.ledger.grant()
	c.granted = granted
	p.ledger.mu.Unlock()
	for _, tell := range others {
		tell()
	}
	return c
}

// Held reports whether the claim is granted.
func (c *Claim) Held() bool {
	c.part.ledger.mu.Lock()
	defer c.part.ledger.mu.Unlock()
	return c.held
}

// Release withdraws the claim, whether it is granted or not. It may be called again.
func (c *Claim) Release() {
	l := c.part.ledger
	l.update(func() {
		if c.held {
			c.part.take(-c.bytes)
		}
		c.held = false
		l.waiting = slices.DeleteFunc(l.waiting, func(other *Claim) bool { return other == c })
	})
}

// Reserve claims bytes and waits until they are granted. If that takes longer than maxWait, it fails with TooManyCalls,
// so that the client can retry. It also fails if ctx ends first.
func (p *Part) Reserve(ctx context.Context, bytes int64, maxWait time.Duration) (*Claim, error) {
	granted := make(chan struct{})
	c := p.Claim(bytes, func() { close(granted) })
	if c.Held() {
		return c, nil
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	var err error
	select {
	case <-granted:
		return c, nil
	case <-timeout.C:
		err = TooManyLargeCalls(bytes)
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.Release()
	return nil, err
}

// ReserveMore is Reserve for a caller that holds bytes already: if there are free ones, it passes those who wait, because
// they may wait for the bytes of the caller.
func (p *Part) ReserveMore(ctx context.Context, bytes int64, maxWait time.Duration) (*Claim, error) {
	if p.Take(bytes) {
		return &Claim{part: p, bytes: bytes, held: true}, nil
	}
	return p.Reserve(ctx, bytes, maxWait)
}

// RetrySeconds is how many seconds a client should wait that was refused for lack of room.
const RetrySeconds = 5

// TooManyCalls is the reason of the fault of a call that is refused because others hold the bytes that it needs.
const TooManyCalls = "TOO_MANY_LARGE_CALLS"

// TooManyLargeCalls returns that fault.
func TooManyLargeCalls(bytes int64) *fault.Error {
	return fault.New(fault.ResourceExhausted, TooManyCalls,
		"the call needs %s of the coordinator's memory, which jobs and other calls hold; try again when they have ended", text.Bytes(bytes)).RetryIn(RetrySeconds)
}
