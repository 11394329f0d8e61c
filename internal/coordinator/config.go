package coordinator

import (
	"errors"
	"net"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/store"
)

// Config says how a coordinator runs. Start from DefaultConfig; New checks it.
type Config struct {
	// Listen is the address to serve on, HOST:PORT; port 0 picks a free one (see Addr).
	Listen string
	// Listener is used instead of Listen if it is set, as in-process connections need it. The
	// coordinator closes it.
	Listener net.Listener

	// DataDir is where the embedded store is and, if Blobs is empty, the blobs.
	DataDir string
	// Store is `embedded` (in DataDir), `memory`, or `etcd://A:2379,B:2379`.
	Store string
	// Blobs is a directory or a URL. Empty means DataDir/blobs, or memory without a DataDir.
	Blobs string
	// BlobsStall is how long an operation on blobs may move no byte before it is given up, as if the store could not be reached.
	BlobsStall time.Duration
	// Stores are used instead of Store and Blobs if they are set.
	Stores Stores

	// Election is for coordinators that share a store.
	Election Election

	// Logger may be nil.
	Logger hclog.Logger
	// Version of this software, for the log.
	Version string

	// MaxDatasetBytes limits the size of a data set.
	MaxDatasetBytes int64
	// UploadBytes limits the memory of all uploads that are under way; one alone may have MaxDatasetBytes.
	UploadBytes int64
	// UploadStall is how long an upload may be silent, or the request of a call may take to come, before it is given up.
	UploadStall time.Duration
	// MaxMessageBytes limits the size of one message from a client. It never limits what workers send.
	MaxMessageBytes int
	// MaxConcurrentJobs is how many jobs run at once; further ones are queued.
	MaxConcurrentJobs int
	// MemoryBytes is the memory that jobs have in this process: for their data sets and, of some algorithms,
	// eigenvectors and graphs. A job that needs more is refused, and those that run at once share it. 0 means no limit.
	MemoryBytes int64
	// CacheBytes limits the data sets that are cached in memory.
	CacheBytes int64

	// HeartbeatInterval is how often workers send a heartbeat. When none came for LostAfter, the worker's
	// tiles are placed on others; when its connection was closed, after ReconnectWithin; when it makes no
	// progress with a command, after StalledAfter, or 30 times what is planned if that is longer.
	HeartbeatInterval time.Duration
	LostAfter         time.Duration
	ReconnectWithin   time.Duration
	StalledAfter      time.Duration
	// Distrust is about workers that are slow or wrong.
	Distrust Distrust
	// WorkerWait is how long a job that ran before waits while the workers have too little memory for it,
	// because some were lost or have yet to come back. Then it fails.
	WorkerWait time.Duration
	// Snapshots of running jobs.
	Snapshots Snapshots
	// ShutdownTimeout is how long calls may take to finish when the coordinator shuts down.
	ShutdownTimeout time.Duration

	// Security says who may connect and call.
	Security gate.Security
	// Observe is told what happens, for metrics and traces; nil: nobody watches.
	Observe   *observe.Coordinator
	Limits    Limits
	Retention Retention

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultConfig is a coordinator with an embedded store; DataDir has yet to be set.
func DefaultConfig() Config {
	return Config{
		Listen:            "127.0.0.1:7400",
		Store:             storeEmbedded,
		BlobsStall:        30 * time.Second,
		Election:          Election{Lease: store.DefaultLease},
		MaxDatasetBytes:   16 << 30,
		UploadBytes:       2 << 30,
		UploadStall:       30 * time.Second,
		MaxMessageBytes:   64 << 20,
		MaxConcurrentJobs: 4,
		CacheBytes:        512 << 20,
		HeartbeatInterval: fleet.DefaultHeartbeatInterval,
		LostAfter:         fleet.DefaultLostAfter,
		ReconnectWithin:   fleet.DefaultReconnectWithin,
		StalledAfter:      fleet.DefaultStalledAfter,
		WorkerWait:        fleet.DefaultWorkerWait,
		Snapshots:         defaultSnapshots(),
		Distrust:          DefaultDistrust(),
		ShutdownTimeout:   5 * time.Second,
		Security:          gate.Security{Access: access.Config{OIDC: access.DefaultOIDC()}},
		Limits:            defaultLimits(),
	}
}

const (
	storeEmbedded = "embedded"
	storeMemory   = "memory"
	blobsInMemory = "mem://"
)

// gate returns the configuration of the gate.
func (cfg Config) gate() gate.Config {
	return gate.Config{
		Security:       cfg.Security,
		Limits:         gate.Limits{Calls: cfg.Limits.Calls, Reads: cfg.Limits.Reads, Streams: cfg.Limits.Streams},
		RequestTimeout: cfg.UploadStall, SlowReader: cfg.Limits.SlowReader,
		Logger: cfg.Logger.Named("gate"), Observe: cfg.Observe, Now: cfg.Now,
	}
}

// withDefaults checks a configuration and sets what has a default.
func (cfg Config) withDefaults() (Config, error) {
	switch {
	case cfg.Listen == "" && cfg.Listener == nil:
		return cfg, badConfig("there is no address to listen on; give HOST:PORT, such as 127.0.0.1:7400")
	case cfg.Store == storeEmbedded && cfg.DataDir == "":
		return cfg, badConfig("the embedded store needs a data directory; give one, or use the memory store")
	case cfg.Blobs == "" && cfg.Store != storeMemory && cfg.DataDir == "":
		return cfg, badConfig("the blobs need a place; give a data directory, or a directory or URL for the blobs")
	case cfg.Security.Store != (credentials.Dial{}) && !store.IsShared(cfg.Store):
		return cfg, badConfig("the flags that begin with --store- are about connections to an etcd cluster, and the store is %s; give --store etcd://HOST:PORT too", cfg.Store)
	case cfg.BlobsStall <= 0:
		return cfg, badConfig("the blob store may hang for %v; it must be positive", cfg.BlobsStall)
	case cfg.MaxDatasetBytes < 1:
		return cfg, badConfig("the largest data set is %d bytes; it must be at least 1", cfg.MaxDatasetBytes)
	case cfg.UploadBytes < 1:
		return cfg, badConfig("uploads together have %d bytes of memory; it must be at least 1", cfg.UploadBytes)
	case cfg.UploadStall <= 0:
		return cfg, badConfig("uploads may be silent for %v; it must be positive", cfg.UploadStall)
	case cfg.MaxMessageBytes < 1<<10:
		return cfg, badConfig("the largest message is %d bytes; it must be at least 1024", cfg.MaxMessageBytes)
	case cfg.MaxConcurrentJobs < 1:
		return cfg, badConfig("%d jobs may run at once; it must be at least 1", cfg.MaxConcurrentJobs)
	case cfg.MemoryBytes < 0:
		return cfg, badConfig("jobs have %d bytes of memory; it must not be negative", cfg.MemoryBytes)
	case cfg.CacheBytes < 0:
		return cfg, badConfig("the data cache has %d bytes; it must not be negative", cfg.CacheBytes)
	case cfg.HeartbeatInterval <= 0:
		return cfg, badConfig("the heartbeat interval is %v; it must be positive", cfg.HeartbeatInterval)
	case cfg.LostAfter <= cfg.HeartbeatInterval:
		return cfg, badConfig("a worker is lost after %v, which must be more than the heartbeat interval of %v",
			cfg.LostAfter, cfg.HeartbeatInterval)
	case cfg.WorkerWait <= 0:
		return cfg, badConfig("jobs wait %v for workers with memory for them; it must be positive", cfg.WorkerWait)
	case cfg.ReconnectWithin <= 0:
		return cfg, badConfig("a worker may come back within %v; it must be positive", cfg.ReconnectWithin)
	case cfg.StalledAfter <= cfg.HeartbeatInterval:
		return cfg, badConfig("a worker is stalled after %v, which must be more than the heartbeat interval of %v, at which it tells of progress",
			cfg.StalledAfter, cfg.HeartbeatInterval)
	case cfg.ShutdownTimeout < 0:
		return cfg, badConfig("the shutdown timeout is %v; it must not be negative", cfg.ShutdownTimeout)
	}
	var err error
	if err = errors.Join(cfg.Limits.check(), cfg.Distrust.check(), cfg.Retention.check(), cfg.Election.check()); err != nil {
		return cfg, err
	}
	if cfg.Security, err = cfg.Security.Check(cfg.Listen, cfg.Listener); err != nil {
		return cfg, err
	}
	if err = cfg.Snapshots.check(); err != nil {
		return cfg, err
	}
	if cfg.Store == storeMemory { // there will be no other coordinator to go on
		cfg.Snapshots.Interval = 0
	}
	if cfg.MemoryBytes > 0 {
		cfg.CacheBytes = min(cfg.CacheBytes, cfg.MemoryBytes/4)
	}
	if cfg.Blobs == "" {
		cfg.Blobs = blobsInMemory
		if cfg.DataDir != "" {
			cfg.Blobs = filepath.Join(cfg.DataDir, "blobs")
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg, nil
}

func badConfig(format string, args ...any) error {
	return fault.Invalid("INVALID_CONFIG", format, args...)
}
