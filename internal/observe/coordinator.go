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

func (c *Coordinator) counts() bool { return c != nil && c.metrics != nil }

// count calls record with the metrics, unless they are off.
func (c *Coordinator) count(record func(*coordinatorMetrics)) {
	if c.counts() {
		record(c.metrics)
	}
}

// Watch sets the function that returns the state of the coordinator for gauges.
func (c *Coordinator) Watch(look func() Gauges) {
	if c.counts() {
		c.metrics.gauges.Store(&look)
	}
}

// EventFlush records that events were made durable.
func (c *Coordinator) EventFlush(began time.Time) {
	c.count(func(m *coordinatorMetrics) { m.flushSeconds.Observe(time.Since(began).Seconds()) })
}

// Store records a call of a store. failed must be false for regular answers that Go reports as errors, such as a
// missing key.
func (c *Coordinator) Store(store, operation string, began time.Time, failed bool) {
	c.count(func(m *coordinatorMetrics) {
		m.storeSeconds.WithLabelValues(store, operation).Observe(time.Since(began).Seconds())
		if failed {
			m.storeErrors.WithLabelValues(store, operation).Inc()
		}
	})
}

// BlobBytes records bytes that were read or written.
func (c *Coordinator) BlobBytes(direction string, count int) {
	c.count(func(m *coordinatorMetrics) { m.blobBytes.WithLabelValues(direction).Add(float64(count)) })
}

// DatasetSent records bytes of a data set that were sent to a worker.
func (c *Coordinator) DatasetSent(count int) {
	c.count(func(m *coordinatorMetrics) { m.datasetSent.Add(float64(count)) })
}

// request records a gRPC request that ended.
func (c *Coordinator) request(method string, began time.Time, code codes.Code) {
	c.count(func(m *coordinatorMetrics) {
		m.requestSeconds.WithLabelValues(method).Observe(time.Since(began).Seconds())
	})
	c.answered(method, code)
}

// Refused records a gRPC request that was rejected before it began. To keep the number of labels small, method must
// be an existing one, or a single word for all others.
func (c *Coordinator) Refused(method string, code codes.Code) { c.answered(method, code) }

// answered counts a gRPC request by its answer.
func (c *Coordinator) answered(method string, code codes.Code) {
	c.count(func(m *coordinatorMetrics) {
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
func (c *Coordinator) Operation(ctx context.Context, name string) (context.Context, func(error)) {
	began := time.Now()
	ctx, end := jobOf(ctx).operation(ctx, name, began)
	return ctx, func(err error) {
		c.count(func(m *coordinatorMetrics) {
			m.operationSeconds.WithLabelValues(name).Observe(time.Since(began).Seconds())
		})
		end(err)
	}
}

// Command records a command to a worker. The command must carry parent, which may be empty. The caller must call end
// with the reason the command failed, or "".
func (c *Coordinator) Command(ctx context.Context, command, worker string,
	tiles int) (parent string, end func(failure string)) {
	began := time.Now()
	span := operationOf(ctx).start(clientSpan, "command "+command, began, workerKey, worker, tilesKey, tiles)
	return span.parent(), func(failure string) {
		c.count(func(m *coordinatorMetrics) { m.commands.ended(command, failure, time.Since(began)) })
		endSpan(span, failure)
	}
}

// TilesBuilt records that a worker built tiles.
func (c *Coordinator) TilesBuilt(count int) {
	c.count(func(m *coordinatorMetrics) { m.tilesBuilt.Add(float64(count)) })
}

// Heartbeat records a heartbeat of a worker.
func (c *Coordinator) Heartbeat() { c.count(func(m *coordinatorMetrics) { m.heartbeats.Inc() }) }

// Session records a change of a worker's session: attached, resumed, away, lost, left or refused.
func (c *Coordinator) Session(change string) {
	c.count(func(m *coordinatorMetrics) { m.sessions.WithLabelValues(change).Inc() })
}

// Excluded records that a job continues without a worker, and why.
func (c *Coordinator) Excluded(reason string) {
	c.count(func(m *coordinatorMetrics) { m.excluded.WithLabelValues(m.exclusionReasons.word(reason)).Inc() })
}
