package observe

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
)

// Coordinator observes a coordinator and its fleet. It is safe for concurrent use. All methods do nothing on a nil
// Coordinator.
type Coordinator struct {
	metrics *coordinatorMetrics // nil if metrics are off
	tracing *tracing            // nil if tracing is off
}

func (o *Coordinator) counts() bool { return o != nil && o.metrics != nil }

// count calls record with the metrics, unless they are off.
func (o *Coordinator) count(record func(*coordinatorMetrics)) {
	if o.counts() {
		record(o.metrics)
	}
}

// Watch sets the function that returns the state of the coordinator for gauges.
func (o *Coordinator) Watch(look func() Snapshot) {
	if o.counts() {
		o.metrics.snapshot.Store(&look)
	}
}

// EventFlush records that events were made durable.
func (o *Coordinator) EventFlush(began time.Time) {
	o.count(func(m *coordinatorMetrics) { m.flushSeconds.Observe(time.Since(began).Seconds()) })
}

// Store records a call of a store. failed must be false for regular answers that Go reports as errors, such as a
// missing key.
func (o *Coordinator) Store(store, operation string, began time.Time, failed bool) {
	o.count(func(m *coordinatorMetrics) {
		m.storeSeconds.WithLabelValues(store, operation).Observe(time.Since(began).Seconds())
		if failed {
			m.storeErrors.WithLabelValues(store, operation).Inc()
		}
	})
}

// BlobBytes records bytes that were read or written.
func (o *Coordinator) BlobBytes(direction string, count int) {
	o.count(func(m *coordinatorMetrics) { m.blobBytes.WithLabelValues(direction).Add(float64(count)) })
}

// DatasetSent records bytes of a data set that were sent to a worker.
func (o *Coordinator) DatasetSent(count int) {
	o.count(func(m *coordinatorMetrics) { m.datasetSent.Add(float64(count)) })
}

// request records a gRPC request that ended.
func (o *Coordinator) request(method string, began time.Time, code codes.Code) {
	o.count(func(m *coordinatorMetrics) {
		m.requestSeconds.WithLabelValues(method).Observe(time.Since(began).Seconds())
	})
	o.Refused(method, code)
}

// Refused records a gRPC request that was rejected before it began. To keep the number of labels small, method must
// be an existing one, or a single word for all others.
func (o *Coordinator) Refused(method string, code codes.Code) {
	o.count(func(m *coordinatorMetrics) {
		m.requests.WithLabelValues(method, code.String()).Inc()
		if kind := uploads[method]; kind != "" {
			m.uploads.WithLabelValues(kind, code.String()).Inc()
		}
	})
}

// uploads maps the methods that upload something to what they upload.
var uploads = map[string]string{
	"/cleave.v1.DatasetService/CreateDataset": "dataset",
	"/cleave.v1.TableService/CreateTable":     "table",
}

// Operation records an operation over tiles. Its commands must run with the returned context, and the caller must
// call the returned function when it ends.
func (o *Coordinator) Operation(ctx context.Context, name string) (context.Context, func(error)) {
	began := time.Now()
	ctx, end := jobOf(ctx).operation(ctx, name, began)
	return ctx, func(err error) {
		o.count(func(m *coordinatorMetrics) {
			m.operationSeconds.WithLabelValues(name).Observe(time.Since(began).Seconds())
		})
		end(err)
	}
}

// Command records a command to a worker. The command must carry parent, which may be empty. The caller must call end
// with the reason the command failed, or "".
func (o *Coordinator) Command(ctx context.Context, command, worker string, tiles int) (parent string, end func(failure string)) {
	began := time.Now()
	span := operationOf(ctx).start(clientSpan, "command "+command, began, workerKey, worker, tilesKey, tiles)
	return span.parent(), func(failure string) {
		o.count(func(m *coordinatorMetrics) { m.commands.ended(command, failure, time.Since(began)) })
		endSpan(span, failure)
	}
}

// TilesBuilt records that a worker built tiles.
func (o *Coordinator) TilesBuilt(count int) {
	o.count(func(m *coordinatorMetrics) { m.tilesBuilt.Add(float64(count)) })
}

// Heartbeat records a heartbeat of a worker.
func (o *Coordinator) Heartbeat() { o.count(func(m *coordinatorMetrics) { m.heartbeats.Inc() }) }

// Session records a change of a worker's session: attached, resumed, away, lost, left or refused.
func (o *Coordinator) Session(change string) {
	o.count(func(m *coordinatorMetrics) { m.sessions.WithLabelValues(change).Inc() })
}

// PutAside records that a job continues without a worker, and why.
func (o *Coordinator) PutAside(reason string) {
	o.count(func(m *coordinatorMetrics) { m.aside.WithLabelValues(m.asideReasons.word(reason)).Inc() })
}
