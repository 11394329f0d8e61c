package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

const (
	// maxProbes limits concurrent health checks, which need no credentials and take only a moment.
	maxProbes = 1000
	// minWaitingCalls is how many calls may wait for their turn however few may run: a burst from one client waits
	// instead of being refused.
	minWaitingCalls = 128
	// retryCall is the number of seconds after which a refused client may try again.
	retryCall = 0.5
)

// limiter has a limited number of slots. When more than half of them are taken, no client may have more than an equal
// share, so that one client cannot keep all others out. A call is refused when its header has arrived, before anything
// else of it is read, so that an overloaded coordinator spends nothing on what it refuses.
type limiter struct {
	limit   int
	refusal error // created once, because refusals come in bursts when the coordinator is overloaded
	waiting waiting

	mu       sync.Mutex
	taken    int
	byClient map[string]int // clients that have slots
}

func newLimiter(limit int, reason, message string) *limiter {
	refusal := fault.New(fault.ResourceExhausted, reason, message, limit).With("limit", fmt.Sprint(limit)).RetryIn(retryCall)
	return &limiter{limit: limit, refusal: wire.Status(refusal), waiting: waiting{evictAfter: evictAfter}, byClient: map[string]int{}}
}

// take takes a slot for a client and reports whether there was one.
func (d *limiter) take(client string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.byClient[client]
	clients := len(d.byClient)
	if own == 0 {
		clients++
	}
	if d.taken >= d.limit || 2*d.taken >= d.limit && own > 0 && own >= d.limit/clients {
		return false
	}
	d.taken++
	d.byClient[client] = own + 1
	return true
}

// giveBack frees a slot of a client.
func (d *limiter) giveBack(client string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken--
	if d.byClient[client]--; d.byClient[client] == 0 {
		delete(d.byClient, client)
	}
}

// inUse returns how many slots are taken.
func (d *limiter) inUse() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken
}

// clientOf identifies who calls, for fairness: the caller's name, or the address of the connection if callers have none.
func clientOf(ctx context.Context) string {
	if name := identity.FromContext(ctx).Name; name != "" {
		return name
	}
	if p, known := peer.FromContext(ctx); known && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// slot is the slot of a call. Until its handler begins, the slot is given back when the call ends. After that it is
// given back when the handler returns, because the handler may still work for a client that has gone.
type slot struct {
	giveBack func()
	handOver func() bool
}

type slotKey struct{}

// takeSlot takes a slot of the limiter of the method. It fails if there is none.
func (g *Gate) takeSlot(ctx context.Context, info *tap.Info) (context.Context, error) {
	l := g.limiterOf(info.FullMethodName)
	if l == nil {
		return ctx, nil
	}
	client := clientOf(ctx)
	if !l.take(client) && !(l.waiting.evict() && l.take(client)) {
		return nil, l.refusal
	}
	p := &slot{giveBack: sync.OnceFunc(func() { l.giveBack(client) })}
	p.handOver = context.AfterFunc(ctx, p.giveBack)
	return context.WithValue(ctx, slotKey{}, p), nil
}

// keepSlot keeps the slot of a call until the returned function is called.
func keepSlot(ctx context.Context) (release func()) {
	p, counted := ctx.Value(slotKey{}).(*slot)
	if !counted {
		return func() {}
	}
	p.handOver()
	return p.giveBack
}

// fairQueue lets a limited number of calls work at once. The others wait. Clients take turns: the next call is one of the
// client that has waited longest since its last turn.
type fairQueue struct {
	mu      sync.Mutex
	free    int
	queues  map[string][]chan struct{} // waiting calls by client; a channel is closed when it is the call's turn
	clients []string                   // clients with waiting calls, the next one first
}

// enter waits for the turn of a call. The caller calls leave when its work is done.
func (t *fairQueue) enter(ctx context.Context, client string) (leave func(), err error) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return t.leave, nil
	}
	turn := make(chan struct{})
	if t.queues == nil {
		t.queues = map[string][]chan struct{}{}
	}
	if len(t.queues[client]) == 0 {
		t.clients = append(t.clients, client)
	}
	t.queues[client] = append(t.queues[client], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return t.leave, nil
	case <-ctx.Done():
		t.giveUp(client, turn)
		return nil, ctx.Err()
	}
}

// leave gives the turn of a call that is done to the next one.
func (t *fairQueue) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.clients) == 0 {
		t.free++
		return
	}
	client := t.clients[0]
	t.clients = t.clients[1:]
	queue := t.queues[client]
	close(queue[0])
	if t.queues[client] = queue[1:]; len(queue) > 1 {
		t.clients = append(t.clients, client)
	} else {
		delete(t.queues, client)
	}
}

// giveUp removes a call that waits no longer. If its turn came at the same moment, the next call gets it.
func (t *fairQueue) giveUp(client string, turn chan struct{}) {
	t.mu.Lock()
	for at, waiting := range t.queues[client] {
		if waiting != turn {
			continue
		}
		if t.queues[client] = slices.Delete(t.queues[client], at, at+1); len(t.queues[client]) == 0 {
			delete(t.queues, client)
			t.clients = slices.DeleteFunc(t.clients, func(c string) bool { return c == client })
		}
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	t.leave()
}
