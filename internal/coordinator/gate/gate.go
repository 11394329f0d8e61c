// Package gate decides which calls a coordinator takes: who may call (access.go), how many calls run at once and how
// clients share them (limiter.go), and how long a client may keep a call waiting (request.go). It closes
// connections that are flooded with frames (frames.go), and writes the audit log (audit.go).
package gate

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/audit"
)

// Config configures a Gate.
type Config struct {
	Security Security
	Limits   Limits
	// RequestTimeout is how long the request of a call may take to arrive.
	RequestTimeout time.Duration
	// SlowReader is how long a client may take to accept one message of a stream.
	SlowReader time.Duration
	// Memory is the memory of requests that have arrived.
	Memory *queue.Share
	Logger hclog.Logger
	// Observe counts refused calls. It may be nil.
	Observe *observe.Coordinator
	Now     func() time.Time
}

// Limits limits concurrent calls and streams. Calls of workers and health checks are not counted.
type Limits struct {
	Calls      int // calls that plan, submit or evaluate jobs; more wait for their turn
	ShortCalls int // other calls; more are refused
	Streams    int // more are refused
}

// Gate stands between the network and the services.
type Gate struct {
	cfg     Config
	callers *access.Callers    // nil if everyone may do everything
	tls     func() *tls.Config // nil if connections are not encrypted
	audit   *audit.Log         // nil if there is none

	limiters map[slotKind]*limiter
	turns    *queue.Queue[chan struct{}] // of calls; clients take turns
}

// Open opens the audit log and reads the certificates.
func Open(cfg Config) (*Gate, error) {
	g := &Gate{cfg: cfg}
	g.addLimiters()
	s := cfg.Security
	var err error
	if g.tls, err = s.Serve.TLS(cfg.Logger); err != nil {
		return nil, err
	}
	if s.Serve.CA != "" || len(s.Access.Tokens) > 0 { // otherwise workers could not identify themselves
		if g.callers, err = access.New(s.Access, cfg.Logger, cfg.Now); err != nil {
			return nil, err
		}
	}
	if s.AuditLog != "" {
		if g.audit, err = audit.Open(s.AuditLog, cfg.Now); err != nil {
			g.Close()
			return nil, err
		}
	}
	return g, nil
}

// Close stops the background refresh of keys and closes the audit log.
func (g *Gate) Close() error {
	if g.callers != nil {
		g.callers.Close()
	}
	if g.audit != nil {
		return g.audit.Close()
	}
	return nil
}

// TLS returns a function that builds the TLS configuration of the next connection, or nil if connections are not
// encrypted.
func (g *Gate) TLS() func() *tls.Config { return g.tls }

// ServerOptions returns the options of a server that takes its calls through the gate. transport does its handshakes.
func (g *Gate) ServerOptions(transport credentials.TransportCredentials) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(HandshakeTimeout), grpc.InTapHandle(g.enter),
		grpc.Creds(watchful{transport, g.cfg.Logger}),
	}
}

// InUse returns how much of each limit is in use. Calls include those that wait for their turn.
func (g *Gate) InUse() Limits {
	return Limits{Calls: g.limiters[callSlot].inUse(), ShortCalls: g.limiters[shortSlot].inUse(),
		Streams: g.limiters[streamSlot].inUse()}
}

// HoldUnary keeps the slot of a call until its handler returns, and makes calls that plan, submit or evaluate jobs wait
// for their turn. Only what measures calls may come before it, so that waiting is measured too.
func (g *Gate) HoldUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	requestArrived(ctx)
	defer keepSlot(ctx)()
	release, err := g.holdRequest(request)
	if err != nil {
		return nil, err
	}
	defer release()
	if methods[info.FullMethod].takes == callSlot {
		leave, err := g.awaitTurn(ctx)
		if err != nil {
			return nil, status.FromContextError(err).Err()
		}
		defer leave()
	}
	return handler(ctx, request)
}

// HoldStream keeps the slot of a stream until its handler returns. Only what measures streams may come before it.
func (g *Gate) HoldStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	defer keepSlot(stream.Context())()
	if info.IsClientStream { // the handler watches for silence itself, and counts what arrives
		requestArrived(stream.Context())
		return handler(server, stream)
	}
	awaited := &awaitedStream{ServerStream: stream, gate: g, release: func() {}}
	defer func() { awaited.release() }()
	return handler(server, awaited)
}

func (g *Gate) addLimiters() {
	l := g.cfg.Limits
	g.turns = queue.NewQueue[chan struct{}](queue.Limits{Running: l.Calls}, nil)
	g.limiters = map[slotKind]*limiter{
		callSlot: newLimiter(l.Calls+max(l.Calls, minWaitingCalls), "TOO_MANY_CALLS",
			"%d calls are running or waiting, the maximum for this client or for the coordinator; try again"),
		shortSlot: newLimiter(l.ShortCalls, "TOO_MANY_CALLS",
			"%d short calls are running, the maximum for this client or for the coordinator; try again"),
		streamSlot: newLimiter(l.Streams, "TOO_MANY_STREAMS",
			"%d streams are open, the maximum for this client or for the coordinator; try again when some have ended"),
		probeSlot: newLimiter(maxProbes, "TOO_MANY_PROBES",
			"%d health checks are running, the maximum for the coordinator; try again"),
	}
}

// limiterOf returns the limiter of a method, or nil if it has none.
func (g *Gate) limiterOf(method string) *limiter { return g.limiters[methods[method].takes] }
