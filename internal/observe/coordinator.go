package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
)

// Coordinator observes a coordinator and its fleet. A nil one ignores everything.
type Coordinator struct {
	metrics *coordinatorMetrics // nil: off
	tracing *tracing            // nil: off
}

func (o *Coordinator) counts() bool { return o != nil && o.metrics != nil }
func (o *Coordinator) traces() bool { return o != nil && o.tracing != nil }

// Watch tells how to look up the state of the coordinator.
func (o *Coordinator) Watch(look func() Snapshot) {
	if o.counts() {
		o.metrics.snapshot.Store(&look)
	}
}

// EventFlush observes that events were made durable.
func (o *Coordinator) EventFlush(began time.Time) {
	if o.counts() {
		o.metrics.flushSeconds.Observe(time.Since(began).Seconds())
	}
}

// Store observes a call of a store. failed is false for answers that are errors only to Go, such as that there is no key.
func (o *Coordinator) Store(store, operation string, began time.Time, failed bool) {
	if !o.counts() {
		return
	}
	o.metrics.storeSeconds.WithLabelValues(store, operation).Observe(time.Since(began).Seconds())
	if failed {
		o.metrics.storeErrors.WithLabelValues(store, operation).Inc()
	}
}

// BlobBytes observes bytes that were read or written.
func (o *Coordinator) BlobBytes(direction string, count int) {
	if o.counts() {
		o.metrics.blobBytes.WithLabelValues(direction).Add(float64(count))
	}
}

// request observes a gRPC request that ended.
func (o *Coordinator) request(method string, began time.Time, code codes.Code) {
	o.metrics.requestSeconds.WithLabelValues(method).Observe(time.Since(began).Seconds())
	o.count(method, code)
}

// Refused observes a gRPC request that was refused before it began. The method must be one that exists, or a word for all others.
func (o *Coordinator) Refused(method string, code codes.Code) {
	if o.counts() {
		o.count(method, code)
	}
}

func (o *Coordinator) count(method string, code codes.Code) {
	o.metrics.requests.WithLabelValues(method, code.String()).Inc()
	if kind := uploads[method]; kind != "" {
		o.metrics.uploads.WithLabelValues(kind, code.String()).Inc()
	}
}

// uploads are the methods that upload something.
var uploads = map[string]string{
	"/cleave.v1.DatasetService/CreateDataset": "dataset",
	"/cleave.v1.TableService/CreateTable":     "table",
}

// Operation observes an operation over tiles. What it does has the context; the function ends it.
func (o *Coordinator) Operation(ctx context.Context, name string) (context.Context, func(error)) {
	began := time.Now()
	ctx, end := jobOf(ctx).operation(ctx, name, began)
	return ctx, func(err error) {
		if o.counts() {
			o.metrics.operationSeconds.WithLabelValues(name).Observe(time.Since(began).Seconds())
		}
		end(err)
	}
}

// Command observes a command to a worker. The parent, which may be empty, goes with the command; the function ends it, with
// why it was not done, or "".
func (o *Coordinator) Command(ctx context.Context, command, worker string, tiles int) (parent string, end func(failure string)) {
	began, span := time.Now(), trace.Span(nil)
	if o.traces() && trace.SpanFromContext(ctx).IsRecording() {
		_, span = o.tracing.tracer.Start(ctx, "command "+command, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(workerKey.String(worker), tilesKey.Int(tiles)))
		parent = traceParent(span.SpanContext())
	}
	return parent, func(failure string) {
		if o.counts() {
			o.metrics.commands.ended(command, failure, time.Since(began))
		}
		if span != nil {
			endSpan(span, failure)
		}
	}
}

// TilesBuilt observes that a worker built tiles.
func (o *Coordinator) TilesBuilt(count int) {
	if o.counts() {
		o.metrics.tilesBuilt.Add(float64(count))
	}
}

// Heartbeat observes a heartbeat of a worker.
func (o *Coordinator) Heartbeat() {
	if o.counts() {
		o.metrics.heartbeats.Inc()
	}
}

// Session observes a change of a worker's session: attached, resumed, away, lost, left or refused.
func (o *Coordinator) Session(change string) {
	if o.counts() {
		o.metrics.sessions.WithLabelValues(change).Inc()
	}
}

// PutAside observes that a job goes on without a worker.
func (o *Coordinator) PutAside(reason string) {
	if o.counts() {
		o.metrics.aside.WithLabelValues(o.metrics.asideReasons.word(reason)).Inc()
	}
}
