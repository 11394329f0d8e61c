package observe

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

type coordinatorMetrics struct {
	jobsAccepted, jobsResumed prometheus.Counter
	jobsEnded                 *prometheus.CounterVec
	queueWait                 prometheus.Histogram
	jobSeconds                *prometheus.HistogramVec
	phaseSeconds              *prometheus.CounterVec
	iterations                prometheus.Counter

	operationSeconds       *prometheus.HistogramVec
	commands               commandMetrics
	tilesBuilt, heartbeats prometheus.Counter
	sessions, excluded     *prometheus.CounterVec
	traffic                *prometheus.CounterVec

	uploads      *prometheus.CounterVec
	uploadBytes  *prometheus.CounterVec
	flushSeconds prometheus.Histogram
	storeSeconds *prometheus.HistogramVec
	storeErrors  *prometheus.CounterVec
	blobBytes    *prometheus.CounterVec
	datasetSent  prometheus.Counter

	requestSeconds *prometheus.HistogramVec
	requests       *prometheus.CounterVec

	reasons, exclusionReasons vocabulary
	gauges                    atomic.Pointer[func() Gauges]
}

func newCoordinatorMetrics(r *registry) *coordinatorMetrics {
	m := &coordinatorMetrics{
		jobsAccepted: r.counter("cleave_jobs_accepted_total", "Jobs that were created and are durable."),
		jobsResumed: r.counter("cleave_jobs_resumed_total",
			"Unfinished jobs of an earlier coordinator that this one took over."),
		jobsEnded: r.counters("cleave_jobs_ended_total",
			"Jobs that ended, with their state and the reason of the stop or the failure.", "state", "reason"),
		queueWait: r.histogram("cleave_job_queue_seconds", "How long jobs waited for their turn.", longTimes),
		jobSeconds: r.histograms("cleave_job_seconds",
			"How long jobs took from their creation, or from the start of this coordinator, to their end.",
			longTimes, "state"),
		phaseSeconds: r.counters("cleave_job_phase_seconds_total", "Time that jobs spent in each phase.", "phase"),
		iterations:   r.counter("cleave_iterations_total", "Iterations of all jobs."),

		operationSeconds: r.histograms("cleave_operation_seconds",
			"How long operations over all tiles of a job took, including building tiles and retries after faults.",
			shortTimes, "operation"),
		commands: commandMetrics{
			seconds: r.histograms("cleave_command_seconds", "How long one worker took to answer one command.",
				shortTimes, "command"),
			failures: r.counters("cleave_command_failures_total",
				"Commands that failed, by kind: the failure that the worker answered, or lost or stalled.",
				"command", "kind"),
		},
		tilesBuilt: r.counter("cleave_tiles_built_total", "Tiles that workers built."),
		heartbeats: r.counter("cleave_heartbeats_total", "Heartbeats of workers."),
		sessions: r.counters("cleave_worker_sessions_total",
			"Sessions of workers: attached, resumed, away, lost, left, refused.", "change"),
		excluded: r.counters("cleave_workers_put_aside_total", "Workers that jobs excluded, by reason.", "reason"),
		traffic: newTraffic(r, "cleave_traffic_bytes_total",
			"Bytes of messages that the coordinator exchanged with all workers."),

		uploads: r.counters("cleave_uploads_total", "Uploads of data sets and tables that ended, by gRPC code.",
			"kind", "code"),
		uploadBytes: r.counters("cleave_upload_bytes_total", "Bytes of uploads that arrived.", "kind"),
		flushSeconds: r.histogram("cleave_event_flush_seconds", "How long it took to make events durable, in groups.",
			shortTimes),
		storeSeconds: r.histograms("cleave_store_seconds", "How long calls of the state store and the blob store took.",
			shortTimes, "store", "operation"),
		storeErrors: r.counters("cleave_store_errors_total",
			"Calls of the stores that failed; absent keys and conflicts are answers.", "store", "operation"),
		blobBytes: r.counters("cleave_blob_bytes_total", "Bytes that were read from blobs and written to them.",
			"direction"),
		datasetSent: r.counter("cleave_dataset_sent_bytes_total",
			"Bytes of data sets that the coordinator sent to workers."),

		requestSeconds: r.histograms("cleave_grpc_request_seconds",
			"How long gRPC requests took; streams until they ended.", shortTimes, "method"),
		requests: r.counters("cleave_grpc_requests_total",
			"gRPC requests that ended; those that were refused before they began have no duration.", "method", "code"),
	}
	collect(r, m.look, coordinatorGauges)
	return m
}

// Gauges is the state of a coordinator at one moment.
type Gauges struct {
	Leads                            bool
	JobsQueued, JobsRunning          int
	Ready, Silent, Draining          int // number of workers in each state
	Threads, Tiles                   int // of all workers
	WorkerBytes, WorkerReservedBytes uint64
	MemoryBytes, MemoryReservedBytes int64 // of the coordinator's jobs
	UploadBytes, UploadReservedBytes int64
}

// coordinatorGauges are the gauges of a coordinator.
var coordinatorGauges = []gauge[Gauges]{
	{"cleave_leader", "1 if this coordinator leads and serves.", "", "", func(s Gauges) float64 {
		return truth(s.Leads)
	}},
	{"cleave_jobs", "Unfinished jobs: queued, or running.", "state", "queued", func(s Gauges) float64 {
		return float64(s.JobsQueued)
	}},
	{"cleave_jobs", "", "state", "running", func(s Gauges) float64 { return float64(s.JobsRunning) }},
	{"cleave_workers", "Attached workers: ready, silent or draining.", "state", "ready", func(s Gauges) float64 {
		return float64(s.Ready)
	}},
	{"cleave_workers", "", "state", "silent", func(s Gauges) float64 { return float64(s.Silent) }},
	{"cleave_workers", "", "state", "draining", func(s Gauges) float64 { return float64(s.Draining) }},
	{"cleave_worker_threads", "Threads of all workers.", "", "", func(s Gauges) float64 { return float64(s.Threads) }},
	{"cleave_tiles", "Tiles that are placed on workers.", "", "", func(s Gauges) float64 { return float64(s.Tiles) }},
	{"cleave_workers_memory_bytes", "Memory that all workers offer.", "", "", func(s Gauges) float64 {
		return float64(s.WorkerBytes)
	}},
	{"cleave_workers_memory_reserved_bytes", "Memory of workers that jobs have reserved.", "", "",
		func(s Gauges) float64 { return float64(s.WorkerReservedBytes) }},
	{"cleave_coordinator_memory_bytes", "Memory that jobs may have in the coordinator; 0: no limit.", "", "",
		func(s Gauges) float64 { return float64(s.MemoryBytes) }},
	{"cleave_coordinator_memory_reserved_bytes", "Memory in the coordinator that running jobs have reserved.", "", "",
		func(s Gauges) float64 { return float64(s.MemoryReservedBytes) }},
	{"cleave_upload_memory_bytes", "Memory that uploads may hold.", "", "", func(s Gauges) float64 {
		return float64(s.UploadBytes)
	}},
	{"cleave_upload_memory_held_bytes", "Memory that uploads in progress hold.", "", "", func(s Gauges) float64 {
		return float64(s.UploadReservedBytes)
	}},
}

// look returns the state of the coordinator, or that of one which does nothing before Watch.
func (m *coordinatorMetrics) look() Gauges {
	if look := m.gauges.Load(); look != nil {
		return (*look)()
	}
	return Gauges{}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
