package observe

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

const workerService = "/cleave.worker.v1.WorkerService/"

// trafficKinds are the calls of workers, by what they transfer.
var trafficKinds = map[string]string{
	"Attach":       "commands",
	"FetchDataset": "datasets",
	"FetchPayload": "payloads",
	"SendResult":   "results",
}

// trafficCounter counts the bytes of the messages between a coordinator and its workers, with their gRPC headers. It
// implements stats.Handler.
type trafficCounter struct {
	bytes *prometheus.CounterVec // by kind and direction
}

func newTraffic(r *registry, name, help string) *prometheus.CounterVec {
	return r.counters(name,
		help+" The kind is commands (with answers and heartbeats), datasets, payloads, results or other.",
		"kind", "direction")
}

// counted holds the counters of a call, in its context.
type counted struct{ sent, received prometheus.Counter }

type countedKey struct{}

// TagRPC implements stats.Handler.
func (t *trafficCounter) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	method, is := strings.CutPrefix(info.FullMethodName, workerService)
	if !is {
		return ctx
	}
	kind := trafficKinds[method]
	if kind == "" {
		kind = "other"
	}
	return context.WithValue(ctx, countedKey{}, &counted{sent: t.bytes.WithLabelValues(kind, "sent"),
		received: t.bytes.WithLabelValues(kind, "received")})
}

// HandleRPC implements stats.Handler.
func (t *trafficCounter) HandleRPC(ctx context.Context, event stats.RPCStats) {
	of, _ := ctx.Value(countedKey{}).(*counted)
	if of == nil {
		return
	}
	switch event := event.(type) {
	case *stats.InPayload:
		of.received.Add(float64(event.WireLength))
	case *stats.OutPayload:
		of.sent.Add(float64(event.WireLength))
	}
}

// TagConn implements stats.Handler.
func (t *trafficCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

// HandleConn implements stats.Handler.
func (t *trafficCounter) HandleConn(context.Context, stats.ConnStats) {}

// ServerOptions returns options that make a server count the bytes that it exchanges with workers, and take part in
// the traces of its clients.
func (c *Coordinator) ServerOptions() []grpc.ServerOption {
	var options []grpc.ServerOption
	if c.counts() {
		options = append(options, grpc.StatsHandler(&trafficCounter{bytes: c.metrics.traffic}))
	}
	if c != nil && c.tracing != nil {
		options = append(options, c.tracing.serverOption())
	}
	return options
}

// DialOptions returns options that make a worker count the bytes that it exchanges with its coordinator.
func (w *Worker) DialOptions() []grpc.DialOption {
	if !w.counts() {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(&trafficCounter{bytes: w.metrics.traffic})}
}
