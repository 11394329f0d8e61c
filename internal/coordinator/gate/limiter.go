package gate

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
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
	// retryCall is how long a refused client should wait before it tries again.
	retryCall = 500 * time.Millisecond
)

// limiter has a limited number of slots. When more than half of them are taken, no client may have more than an equal
// share, so that one client cannot keep all others out. A call is refused when its header has arrived, before anything
// else of it is read, so that an overloaded coordinator spends nothing on what it refuses.
type limiter struct {
	limit   int
	full    error // the answer if there is no slot; made once, because it is given in bursts under overload
	waiting waiting

	mu       sync.Mutex
	taken    int
	byClient map[string]int // clients that have slots
}

func newLimiter(limit int, reason, message string) *limiter {
	full := fault.New(fault.ResourceExhausted, reason, message, limit).With("limit", fmt.Sprint(limit)).
		RetryIn(retryCall)
	return &limiter{limit: limit, full: wire.Status(full), waiting: waiting{evictAfter: evictAfter},
		byClient: map[string]int{}}
}

// take takes a slot for a client and reports whether there was one.
func (l *limiter) take(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.byClient[client]
	clients := len(l.byClient)
	if own == 0 {
		clients++
	}
	if l.taken >= l.limit || 2*l.taken >= l.limit && own > 0 && own >= l.limit/clients {
		return false
	}
	l.taken++
	l.byClient[client] = own + 1
	return true
}

// giveBack frees a slot of a client.
func (l *limiter) giveBack(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.byClient[client]--; l.byClient[client] == 0 {
		delete(l.byClient, client)
	}
}

// inUse returns how many slots are taken.
func (l *limiter) inUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

// clientOf identifies who calls, for fairness: the caller's name, or the host of the connection if callers have none. A
// client with many connections has one share.
func clientOf(ctx context.Context) string {
	if name := identity.FromContext(ctx).Name; name != "" {
		return name
	}
	if p, known := peer.FromContext(ctx); known && p.Addr != nil {
		address := p.Addr.String()
		if host, _, err := net.SplitHostPort(address); err == nil {
			return host
		}
		return address
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

// takeSlot takes a slot of the limiter of the method. It fails if there is none, or none for this client. If all are
// taken, a call whose request has not arrived makes room. A client that already has its share cannot evict another
// call.
func (g *Gate) takeSlot(ctx context.Context, info *tap.Info) (context.Context, error) {
	l := g.limiterOf(info.FullMethodName)
	if l == nil {
		return ctx, nil
	}
	client := clientOf(ctx)
	if !l.take(client) && !(l.inUse() >= l.limit && l.waiting.evict() && l.take(client)) {
		return nil, l.full
	}
	s := &slot{giveBack: sync.OnceFunc(func() { l.giveBack(client) })}
	s.handOver = context.AfterFunc(ctx, s.giveBack)
	return context.WithValue(ctx, slotKey{}, s), nil
}

// keepSlot keeps the slot of a call until the returned function is called.
func keepSlot(ctx context.Context) (release func()) {
	s, counted := ctx.Value(slotKey{}).(*slot)
	if !counted {
		return func() {}
	}
	s.handOver()
	return s.giveBack
}

// awaitTurn waits for the turn of a call that takes a callSlot. The caller calls leave when its work is done.
func (g *Gate) awaitTurn(ctx context.Context) (leave func(), err error) {
	turn := make(chan struct{})
	leave = func() {
		g.turns.Leave(turn)
		g.advance()
	}
	g.turns.Enter(turn, queue.Job{Owner: clientOf(ctx)})
	g.advance()
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// advance tells every call whose turn has come.
func (g *Gate) advance() {
	for _, turn := range g.turns.Advance() {
		close(turn)
	}
}

// smallRequest is the size in bytes up to which requests need no reservation.
const smallRequest = 64 << 10

// holdRequest reserves the memory of a request that has arrived. The caller calls release when it is answered.
func (g *Gate) holdRequest(request any) (release func(), err error) {
	m, is := request.(proto.Message)
	if !is || proto.Size(m) <= smallRequest {
		return func() {}, nil
	}
	bytes := wire.MemoryOf(m)
	held, free := g.cfg.Memory.ReserveNow(bytes)
	if !free {
		return nil, wire.Status(queue.TooManyLargeCalls(bytes))
	}
	return held.Release, nil
}
