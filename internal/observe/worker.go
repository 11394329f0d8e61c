package observe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Worker observes the workers of a process. There is more than one only in tests and in programs that run a whole
// cluster in one process. It is safe for concurrent use. All methods do nothing on a nil Worker.
type Worker struct {
	metrics *workerMetrics // nil if metrics are off
	tracing *tracing       // nil if tracing is off
}

func (w *Worker) counts() bool { return w != nil && w.metrics != nil }

// count calls record with the metrics, unless they are off.
func (w *Worker) count(record func(*workerMetrics)) {
	if w.counts() {
		record(w.metrics)
	}
}

// workerMetrics are the metrics of all workers in this process.
type workerMetrics struct {
	commands    commandMetrics
	tilesBuilt  prometheus.Counter
	swept       *prometheus.CounterVec
	fetched     *prometheus.CounterVec
	pieces      *prometheus.CounterVec
	served      prometheus.Counter
	heartbeats  prometheus.Counter
	attachments prometheus.Counter
	traffic     *prometheus.CounterVec

	// mu guards workers.
	mu      sync.Mutex
	workers []*func() WorkerGauges
}

// WorkerGauges is the state of a worker at one moment.
type WorkerGauges struct {
	Attached              bool
	Jobs                  int
	UsedBytes, LimitBytes int64
}

func newWorkerMetrics(r *registry) *workerMetrics {
	m := &workerMetrics{
		commands: commandMetrics{
			seconds: r.histograms("cleave_worker_command_seconds", "How long the worker took for commands.",
				shortTimes, "command"),
			failures: r.counters("cleave_worker_command_failures_total",
				"Commands that the worker could not do, and the kind of failure that it answered.", "command", "kind"),
		},
		tilesBuilt: r.counter("cleave_worker_tiles_built_total", "Tiles that the worker built."),
		swept: r.counters("cleave_worker_swept_bytes_total",
			"Bytes of stored tiles that commands read: all of a tile, or the columns of points that moved.", "command"),
		fetched: r.counters("cleave_worker_fetched_bytes_total",
			"Bytes that came from the coordinator: data sets and operands.", "what"),
		pieces: r.counters("cleave_worker_piece_bytes_total",
			"Bytes of data sets that arrived, by source: coordinator, peer, store, cache.", "source"),
		served: r.counter("cleave_worker_served_bytes_total",
			"Bytes of data sets that the worker passed on to other workers."),
		heartbeats:  r.counter("cleave_worker_heartbeats_total", "Heartbeats that the worker sent."),
		attachments: r.counter("cleave_worker_attachments_total", "How often the worker attached to a coordinator."),
		traffic: newTraffic(r, "cleave_worker_traffic_bytes_total",
			"Bytes of messages that the worker exchanged with its coordinator."),
	}
	collect(r, m.total, []gauge[workerTotal]{
		{"cleave_worker_attached", "1 while the worker is attached to a coordinator.", "", "",
			func(t workerTotal) float64 { return t.attached }},
		{"cleave_worker_jobs", "Jobs that have tiles or data on the worker.", "", "", func(t workerTotal) float64 {
			return t.jobs
		}},
		{"cleave_worker_memory_used_bytes",
			"Memory that jobs and data sets have reserved on the worker.", "", "", func(t workerTotal) float64 {
				return t.used
			}},
		{"cleave_worker_memory_limit_bytes", "Memory that the worker offers; 0: no limit.", "", "",
			func(t workerTotal) float64 { return t.limit }},
	})
	return m
}

// workerTotal adds up the states of all workers of this process.
type workerTotal struct{ attached, jobs, used, limit float64 }

func (m *workerMetrics) total() (t workerTotal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, look := range m.workers {
		s := (*look)()
		t.attached += truth(s.Attached)
		t.jobs += float64(s.Jobs)
		t.used += float64(s.UsedBytes)
		t.limit += float64(s.LimitBytes)
	}
	return t
}

// Watch adds a function that returns the state of a worker for gauges, until stop is called.
func (w *Worker) Watch(look func() WorkerGauges) (stop func()) {
	if !w.counts() {
		return func() {}
	}
	m := w.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workers = append(m.workers, &look)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.workers = slices.DeleteFunc(m.workers, func(other *func() WorkerGauges) bool { return other == &look })
	}
}

// Command records a command. parent is what the coordinator sent with it. The caller must call end with the kind of
// failure that is answered, or "".
func (w *Worker) Command(parent, command, job, worker string, tiles int) (end func(failure string)) {
	if w == nil {
		return func(string) {}
	}
	began := time.Now()
	var span *span
	if parent != "" {
		span = w.tracing.start(parent, serverSpan, command, jobKey, job, workerKey, worker, tilesKey, tiles)
	}
	return func(failure string) {
		w.count(func(m *workerMetrics) { m.commands.ended(command, failure, time.Since(began)) })
		endSpan(span, failure)
	}
}

// TilesBuilt records that tiles were built.
func (w *Worker) TilesBuilt(count int) {
	w.count(func(m *workerMetrics) { m.tilesBuilt.Add(float64(count)) })
}

// Swept records that a command read stored tiles.
func (w *Worker) Swept(command string, bytes int64) {
	if bytes > 0 {
		w.count(func(m *workerMetrics) { m.swept.WithLabelValues(command).Add(float64(bytes)) })
	}
}

// Fetched records bytes that came from the coordinator.
func (w *Worker) Fetched(what string, bytes int) {
	w.count(func(m *workerMetrics) { m.fetched.WithLabelValues(what).Add(float64(bytes)) })
}

// Piece records bytes of a data set that came from a source.
func (w *Worker) Piece(source string, bytes int) {
	w.count(func(m *workerMetrics) { m.pieces.WithLabelValues(source).Add(float64(bytes)) })
}

// Served records bytes that the worker passed on to another.
func (w *Worker) Served(bytes int) { w.count(func(m *workerMetrics) { m.served.Add(float64(bytes)) }) }

// Heartbeat records that a heartbeat was sent.
func (w *Worker) Heartbeat() { w.count(func(m *workerMetrics) { m.heartbeats.Inc() }) }

// Attached records that the worker attached to a coordinator.
func (w *Worker) Attached() { w.count(func(m *workerMetrics) { m.attachments.Inc() }) }

// Ready returns nil if the workers of this process are attached, and otherwise an error that says why not.
func (w *Worker) Ready(context.Context) error {
	if !w.counts() {
		return nil
	}
	w.metrics.mu.Lock()
	defer w.metrics.mu.Unlock()
	for _, look := range w.metrics.workers {
		if !(*look)().Attached {
			return errors.New("it is not attached to a coordinator")
		}
	}
	if len(w.metrics.workers) == 0 {
		return errors.New("it is starting")
	}
	return nil
}
