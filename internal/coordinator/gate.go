package coordinator

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// callGate bounds the calls that are in work and the streams that are open. One too many is refused when its headers have
// come, before anything else of it is read, so that a coordinator with too much to do spends nothing on what it refuses.
type callGate struct {
	calls, streams, probes doorway
	doors                  map[string]*doorway // by method; workers have none
}

// maxProbes bounds what strangers take: checks of the health need no credentials, and no more than a moment each.
const maxProbes = 1000

// doorway lets a limited number through.
type doorway struct {
	limit   int64
	inside  atomic.Int64
	refusal error // made once: there are many of them just when there is no time
	waiting waiting
}

func (d *doorway) init(limit int, reason, says string) {
	d.limit, d.waiting.patience = int64(limit), evictAfter
	d.refusal = wire.Status(fault.New(fault.ResourceExhausted, reason, says, limit).With("limit", fmt.Sprint(limit)).RetryIn(retryCall))
}

// take takes a place, if there is one.
func (d *doorway) take() bool {
	if d.inside.Add(1) > d.limit {
		d.inside.Add(-1)
		return false
	}
	return true
}

func newCallGate(l Limits) *callGate {
	g := &callGate{doors: map[string]*doorway{}}
	g.calls.init(l.Calls, "TOO_MANY_CALLS", "this coordinator has %d calls in work, which is the limit; try again")
	g.streams.init(l.Streams, "TOO_MANY_STREAMS", "%d streams are open, which is the limit of this coordinator; try again when some have ended")
	g.probes.init(maxProbes, "TOO_MANY_PROBES", "%d checks of the health are in work, which is the limit of this coordinator; try again")
	for name, rule := range methods {
		switch {
		case rule.needs == anyone:
			g.doors[name] = &g.probes
		case !strings.HasPrefix(name, "/cleave."): // health and reflection
			g.doors[name] = &g.streams
		}
	}
	for _, service := range []grpc.ServiceDesc{
		cleavev1.DatasetService_ServiceDesc, cleavev1.TableService_ServiceDesc, cleavev1.JobService_ServiceDesc, cleavev1.ClusterService_ServiceDesc,
	} {
		for _, method := range service.Methods {
			g.doors["/"+service.ServiceName+"/"+method.MethodName] = &g.calls
		}
		for _, stream := range service.Streams {
			g.doors["/"+service.ServiceName+"/"+stream.StreamName] = &g.streams
		}
	}
	return g
}

// inWork is how many calls are in work and how many streams are open.
func (g *callGate) inWork() (calls, streams int64) {
	return g.calls.inside.Load(), g.streams.inside.Load()
}

// admittance is the place that a call has taken. Until its handler begins it is given back when the call ends; after that,
// when the handler returns, because it may still work for a caller who has gone.
type admittance struct {
	giveBack func()
	handOver func() bool
}

type admittanceKey struct{}

// enter implements tap.ServerInHandle.
func (g *callGate) enter(ctx context.Context, info *tap.Info) (context.Context, error) {
	door := g.doors[info.FullMethodName]
	if door == nil {
		return ctx, nil
	}
	if !door.take() && !(door.waiting.evict() && door.take()) {
		return nil, door.refusal
	}
	a := &admittance{giveBack: sync.OnceFunc(func() { door.inside.Add(-1) })}
	a.handOver = context.AfterFunc(ctx, a.giveBack)
	return context.WithValue(ctx, admittanceKey{}, a), nil
}

// hold keeps the place of a call until the returned function is called.
func hold(ctx context.Context) (release func()) {
	a, counted := ctx.Value(admittanceKey{}).(*admittance)
	if !counted {
		return func() {}
	}
	a.handOver()
	return a.giveBack
}

func holdUnary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	requestArrived(ctx)
	defer hold(ctx)()
	return handler(ctx, request)
}

func holdStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	defer hold(stream.Context())()
	return handler(server, awaitFirst(stream, info))
}
