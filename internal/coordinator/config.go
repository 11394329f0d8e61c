package coordinator

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/store"
)

// Config configures a coordinator. Start from DefaultConfig; New validates it.
type Config struct {
	// Listen is the HOST:PORT to serve on. Port 0 picks a free port; see Coordinator.Addr.
	Listen string
	// Listener, if not nil, is used instead of Listen, for example for in-process connections. The coordinator closes
	// it, also if New fails, unless New rejects the configuration itself.
	Listener net.Listener

	// DataDir holds the embedded store and, if Blobs is empty, the blobs.
	DataDir string
	// Store is `embedded` (in DataDir), `memory`, or `etcd://A:2379,B:2379`.
	Store string
	// Blobs is a directory or a URL. Empty means DataDir/blobs, or memory if there is no DataDir.
	Blobs string
	// BlobsStall is how long a blob operation may go without transferring a byte before it fails as unavailable.
	BlobsStall time.Duration
	// Restore is a file with a backup, which is restored into the empty stores before anything else; "" means none.
	Restore string
	// Stores, where set, are used instead of Store and Blobs. The coordinator closes them, as it does Listener.
	Stores Stores

	// Election applies to coordinators that share a store.
	Election Election

	// Logger receives the log; nil discards it.
	Logger hclog.Logger
	// Version is the version of this software. It is logged, and stored with results and backups.
	Version string

	// MaxDatasetBytes limits the size of one data set. It is lowered if the memory of uploads and jobs is too small.
	MaxDatasetBytes int64
	// UploadBytes limits the memory of all uploads in progress. A single upload may also use what others leave of
	// MemoryBytes.
	UploadBytes int64
	// UploadStall is how long an upload may send nothing, or a request may take to arrive, before the call is
	// aborted.
	UploadStall time.Duration
	// MaxMessageBytes limits the size of one message from a client. Messages from workers are not affected.
	MaxMessageBytes int
	// MaxConcurrentJobs is how many jobs run at once; the others are queued.
	MaxConcurrentJobs int
	// MemoryBytes is the memory of this process that running jobs share: data sets and, for some algorithms,
	// eigenvectors and graphs. A job that alone needs more is rejected. Uploads, calls and downloads that exceed their
	// own memory take what jobs leave. 0 means no limit.
	MemoryBytes int64
	// CacheBytes limits the memory of cached data sets. Downloads have as much of their own, and so do calls.
	CacheBytes int64

	// Timing says when a worker is lost, hangs or is slow.
	fleet.Timing
	// Snapshots configures the snapshots of running jobs.
	Snapshots runner.SnapshotConfig
	// ShutdownTimeout is how long calls may take to finish when the coordinator shuts down.
	ShutdownTimeout time.Duration

	// HTTP configures which web pages may call.
	HTTP HTTP
	// Webhooks says who may be notified when jobs end.
	Webhooks webhook.Config
	// Imports says who may import tables from which object stores.
	Imports imports.Config
	// Security configures who may connect and call.
	Security gate.Security
	// Observe receives events for metrics and traces; nil disables them.
	Observe *observe.Coordinator
	// Limits bounds what clients may ask for; see DefaultConfig.
	Limits api.Limits
	// Retention deletes old jobs and data; the zero value keeps everything.
	Retention records.RetentionConfig

	// Engine computes the jobs; the zero value is the real one. Tests replace it.
	Engine jobs.Engine
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// HTTP configures how the API is served over HTTP.
type HTTP struct {
	// Hosts are names by which clients may call the coordinator in URLs, besides the names of this machine, the
	// advertised one, and those of its certificate.
	Hosts []string
	// Origins are the origins, such as https://app.example, whose web pages may call the coordinator; "*" means all.
	Origins []string
}

// check rejects origins that no browser sends.
func (h HTTP) check() error {
	for _, origin := range h.Origins {
		if u, err := url.Parse(origin); origin != "*" &&
			(err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "") {
			return badConfig("the origin is %q; it must be of the form https://HOST or https://HOST:PORT "+
				"(--cors-origin)", origin)
		}
	}
	return nil
}

// DefaultPort is the port of a coordinator whose address has none.
const DefaultPort = "7400"

// DefaultConfig returns the configuration of a coordinator with an embedded store. The caller must set DataDir.
func DefaultConfig() Config {
	return Config{
		Listen:            "127.0.0.1:" + DefaultPort,
		Store:             storeEmbedded,
		BlobsStall:        30 * time.Second,
		Election:          Election{Lease: store.DefaultLease},
		MaxDatasetBytes:   16 << 30,
		UploadBytes:       2 << 30,
		UploadStall:       30 * time.Second,
		MaxMessageBytes:   64 << 20,
		MaxConcurrentJobs: 4,
		CacheBytes:        512 << 20,
		Timing:            fleet.DefaultTiming(),
		Snapshots:         runner.DefaultSnapshots(),
		ShutdownTimeout:   5 * time.Second,
		Security:          gate.Security{Access: access.Config{OIDC: access.DefaultOIDC()}},
		Limits:            api.DefaultLimits(),
	}
}

const (
	storeEmbedded = "embedded"
	storeMemory   = "memory"
	blobsInMemory = "mem://"
)

// gate returns the configuration of the gate; requests is the memory of requests.
func (cfg Config) gate(requests *queue.Share) gate.Config {
	return gate.Config{
		Security: cfg.Security, Limits: cfg.Limits.Limits,
		RequestTimeout: cfg.UploadStall, SlowReader: cfg.Limits.SlowReader, Memory: requests,
		Logger: cfg.Logger.Named("gate"), Observe: cfg.Observe, Now: cfg.Now,
	}
}

// withDefaults validates the configuration and returns it with the defaults filled in.
func (cfg Config) withDefaults() (Config, error) {
	switch {
	case cfg.Listen == "" && cfg.Listener == nil:
		return cfg, badConfig("there is no address to listen on; give HOST:PORT, such as 127.0.0.1:7400 (--listen)")
	case cfg.Store == storeEmbedded && cfg.DataDir == "":
		return cfg,
			badConfig("the embedded store needs a data directory (--data-dir); give one, or use the memory store " +
				"(--store memory)")
	case cfg.Blobs == "" && cfg.Store != storeMemory && cfg.DataDir == "":
		return cfg,
			badConfig("there is no place for the blobs; give a data directory (--data-dir), or a directory or URL " +
				"for the blobs (--blobs)")
	case cfg.Security.Store != (credentials.Dial{}) && !store.IsShared(cfg.Store):
		return cfg, badConfig("there are settings for connections to an etcd cluster (--store-...), "+
			"but the store is %s; give an etcd cluster too (--store etcd://HOST:PORT)", cfg.Store)
	}
	var err error
	if err = errors.Join(cfg.checkNumbers(), checkLimits(cfg.Limits), cfg.Retention.Check(), cfg.Election.check(),
		cfg.HTTP.check(), cfg.Webhooks.Check(), cfg.Imports.Check()); err != nil {
		return cfg, err
	}
	if cfg.Security, err = cfg.Security.Check(cfg.Listen, cfg.Listener); err != nil {
		return cfg, err
	}
	if err = cfg.Snapshots.Check(); err != nil {
		return cfg, err
	}
	if cfg.Store == storeMemory { // no later coordinator could resume from them
		cfg.Snapshots.Interval = 0
	}
	if cfg.MemoryBytes > 0 {
		cfg.CacheBytes = min(cfg.CacheBytes, cfg.MemoryBytes/4)
		cfg.MaxDatasetBytes = min(cfg.MaxDatasetBytes, (cfg.UploadBytes+cfg.MemoryBytes)/datasets.HeldPerByte)
	}
	if cfg.Blobs == "" {
		cfg.Blobs = blobsInMemory
		if cfg.DataDir != "" {
			cfg.Blobs = defaultBlobs(cfg.DataDir)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Engine.Execute == nil {
		cfg.Engine = jobs.RealEngine()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg, nil
}

// setting is a number or a time of the configuration.
type setting struct {
	wrong bool
	name  string
	value any
	must  string // what is required of it
}

// checkSettings rejects the first setting that is out of range.
func checkSettings(settings []setting) error {
	for _, s := range settings {
		if s.wrong {
			return badConfig("%s is %v; it must %s", s.name, s.value, s.must)
		}
	}
	return nil
}

func (cfg Config) checkNumbers() error {
	return checkSettings([]setting{
		{cfg.BlobsStall <= 0, "--blobs-stall", cfg.BlobsStall, "be positive"},
		{cfg.MaxDatasetBytes < 1, "--max-dataset", cfg.MaxDatasetBytes, "be at least 1"},
		{cfg.UploadBytes < 1, "--upload-memory", cfg.UploadBytes, "be at least 1"},
		{cfg.UploadStall <= 0, "--upload-stall", cfg.UploadStall, "be positive"},
		{cfg.MaxMessageBytes < 1<<10, "MaxMessageBytes", cfg.MaxMessageBytes, "be at least 1024"},
		{cfg.MaxConcurrentJobs < 1, "--max-running", cfg.MaxConcurrentJobs, "be at least 1"},
		{cfg.MemoryBytes < 0, "--memory", cfg.MemoryBytes, "be at least 0"},
		{cfg.CacheBytes < 0, "CacheBytes", cfg.CacheBytes, "be at least 0"},
		{cfg.HeartbeatInterval <= 0, "--heartbeat", cfg.HeartbeatInterval, "be positive"},
		{cfg.LostAfter <= cfg.HeartbeatInterval, "--lost-after", cfg.LostAfter,
			fmt.Sprintf("be more than --heartbeat, which is %v", cfg.HeartbeatInterval)},
		{cfg.WorkerWait <= 0, "--worker-wait", cfg.WorkerWait, "be positive"},
		{cfg.ReconnectWithin <= 0, "--reconnect-within", cfg.ReconnectWithin, "be positive"},
		{cfg.StalledAfter <= cfg.HeartbeatInterval, "--stalled-after", cfg.StalledAfter,
			fmt.Sprintf("be more than --heartbeat, which is %v, because heartbeats report progress",
				cfg.HeartbeatInterval)},
		{cfg.SlowAfter <= 0, "--slow-after", cfg.SlowAfter, "be positive"},
		{cfg.ShutdownTimeout < 0, "ShutdownTimeout", cfg.ShutdownTimeout, "be at least 0"},
	})
}

// checkLimits rejects limits that are out of range.
func checkLimits(l api.Limits) error {
	const notNegative, atLeast1 = "not be negative", "be at least 1"
	return checkSettings([]setting{
		{l.Rows < 0, "--max-rows", l.Rows, notNegative},
		{l.Clusters < 0, "--max-k", l.Clusters, notNegative},
		{l.Constraints < 0, "--max-constraints", l.Constraints, notNegative},
		{l.Queued < 0, "--max-queued", l.Queued, notNegative},
		{l.QueuedPerOwner < 0, "--max-queued-per-owner", l.QueuedPerOwner, notNegative},
		{l.RunningPerOwner < 0, "--max-running-per-owner", l.RunningPerOwner, notNegative},
		{l.UploadRate < 0, "--upload-rate", l.UploadRate, notNegative},
		{l.UploadRatePerOwner < 0, "--upload-rate-per-owner", l.UploadRatePerOwner, notNegative},
		{l.FreeDisk < 0, "--min-free", l.FreeDisk, notNegative},
		{l.Calls < 1, "--max-calls", l.Calls, atLeast1},
		{l.ShortCalls < 1, "--max-reads", l.ShortCalls, atLeast1},
		{l.Streams < 1, "--max-streams", l.Streams, atLeast1},
		{l.SlowReader <= 0, "--slow-reader", l.SlowReader, "be positive"},
		{l.DefaultTime < 0, "--job-timeout", l.DefaultTime, notNegative},
		{l.MaxTime < 0, "--max-job-timeout", l.MaxTime, notNegative},
		{l.MaxTime > 0 && l.DefaultTime > l.MaxTime, "--job-timeout", l.DefaultTime,
			fmt.Sprintf("not be longer than --max-job-timeout, which is %v", l.MaxTime)},
	})
}

// limitsProto returns the limits as clients see them.
func (cfg Config) limitsProto() *cleavev1.Limits {
	l, r := cfg.Limits, cfg.Retention
	count := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	return &cleavev1.Limits{
		Rows: count(l.Rows), DatasetBytes: uint64(cfg.MaxDatasetBytes), MessageBytes: uint64(cfg.MaxMessageBytes),
		Clusters: count(l.Clusters), Constraints: count(l.Constraints),
		JobsRunning: count(int64(cfg.MaxConcurrentJobs)), JobsRunningPerOwner: count(int64(l.RunningPerOwner)),
		JobsQueued: count(int64(l.Queued)), JobsQueuedPerOwner: count(int64(l.QueuedPerOwner)),
		DefaultTimeLimit: api.DurationProto(l.DefaultTime), MaxTimeLimit: api.DurationProto(l.MaxTime),
		Calls: count(int64(l.Calls)), Reads: count(int64(l.ShortCalls)),
		Streams: count(int64(l.Streams)), SlowReader: api.DurationProto(l.SlowReader),
		UploadBytesPerSecond: uint64(l.UploadRate), UploadBytesPerSecondPerOwner: uint64(l.UploadRatePerOwner),
		UploadStall:    api.DurationProto(cfg.UploadStall),
		DiskQuotaBytes: uint64(r.Quota), FreeDiskBytes: uint64(l.FreeDisk),
		KeepJobs: api.DurationProto(r.KeepJobs), KeepDatasets: api.DurationProto(r.KeepDatasets),
	}
}

// defaultBlobs returns where the blobs are if the configuration names no place.
func defaultBlobs(dataDir string) string { return filepath.Join(dataDir, "blobs") }

func badConfig(format string, args ...any) error {
	return fault.Invalid("INVALID_CONFIG", format, args...)
}

// SetMemory divides memory between jobs, uploads, calls and caches, so that all of them together take no more. Uploads
// get at most half of it; 0 means a quarter.
func (cfg *Config) SetMemory(total, uploads int64) {
	p := divide(total, uploads, cfg.CacheBytes)
	cfg.MemoryBytes, cfg.UploadBytes, cfg.CacheBytes = p.jobs, p.uploads, p.datasets
}

// runtimeBytes is the memory that the process may take in addition to its jobs, uploads and caches, for calls and the
// Go runtime.
const runtimeBytes = 64 << 20

// LimitProcess makes Go collect garbage more eagerly as the process approaches memoryBytes plus runtimeBytes. It
// never raises a limit that is already set (GOMEMLIMIT). 0 means no limit.
func LimitProcess(memoryBytes int64) {
	limit := min(memoryBytes, planning.Unlimited) + runtimeBytes
	if memoryBytes > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}
