package coordinator

import (
	"net"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// Config says how a coordinator runs. Start from DefaultConfig; New checks it.
type Config struct {
	// Listen is the address to serve on, HOST:PORT; port 0 picks a free one (see Addr).
	Listen string
	// Listener, when set, is served instead of Listen: a bufconn within one process. The
	// coordinator closes it.
	Listener net.Listener

	// DataDir holds the embedded store and, unless Blobs says otherwise, the blobs.
	DataDir string
	// Store is `embedded` (in DataDir), `memory`, or `etcd://A:2379,B:2379`.
	Store string
	// Blobs is a directory or a URL. Empty means DataDir/blobs, or memory beside a memory store.
	Blobs string

	// Logger gets the log; nil keeps it quiet.
	Logger hclog.Logger
	// Version is this software's version, for people who look.
	Version string

	// MaxDatasetBytes is the largest data set that an upload may bring.
	MaxDatasetBytes int64
	// MaxMessageBytes is the largest single message that a client may send; the 8 MiB that workers
	// need are always allowed.
	MaxMessageBytes int
	// MaxConcurrentJobs is how many jobs run at once; others wait their turn.
	MaxConcurrentJobs int
	// CacheBytes is how much decoded data is kept in memory for the next job.
	CacheBytes int64

	// HeartbeatInterval is how often workers speak; LostAfter is the silence after which a
	// worker's tiles are placed elsewhere.
	HeartbeatInterval time.Duration
	LostAfter         time.Duration
	// ShutdownTimeout is how long open calls may take to end when serving ends.
	ShutdownTimeout time.Duration

	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// DefaultConfig is a coordinator with an embedded store. DataDir is left for the caller to say.
func DefaultConfig() Config {
	return Config{
		Listen:            "127.0.0.1:7400",
		Store:             storeEmbedded,
		MaxDatasetBytes:   16 << 30,
		MaxMessageBytes:   64 << 20,
		MaxConcurrentJobs: 4,
		CacheBytes:        512 << 20,
		HeartbeatInterval: time.Second,
		LostAfter:         3 * time.Second,
		ShutdownTimeout:   5 * time.Second,
	}
}

const (
	storeEmbedded = "embedded"
	storeMemory   = "memory"
)

// withDefaults checks a configuration and fills in what follows from the rest.
func (cfg Config) withDefaults() (Config, error) {
	switch {
	case cfg.Listen == "" && cfg.Listener == nil:
		return cfg, badConfig("there is no address to listen on; give HOST:PORT, such as 127.0.0.1:7400")
	case cfg.Store == storeEmbedded && cfg.DataDir == "":
		return cfg, badConfig("the embedded store needs a data directory; give one, or use the memory store")
	case cfg.Blobs == "" && cfg.Store != storeMemory && cfg.DataDir == "":
		return cfg, badConfig("the blobs need a place; give a data directory, or a directory or URL for the blobs")
	case cfg.MaxDatasetBytes < 1:
		return cfg, badConfig("the largest data set is %d bytes; it must be at least 1", cfg.MaxDatasetBytes)
	case cfg.MaxMessageBytes < 1<<10:
		return cfg, badConfig("the largest message is %d bytes; it must be at least 1024", cfg.MaxMessageBytes)
	case cfg.MaxConcurrentJobs < 1:
		return cfg, badConfig("%d jobs may run at once; it must be at least 1", cfg.MaxConcurrentJobs)
	case cfg.CacheBytes < 0:
		return cfg, badConfig("the data cache has %d bytes; it must not be negative", cfg.CacheBytes)
	case cfg.HeartbeatInterval <= 0:
		return cfg, badConfig("the heartbeat interval is %v; it must be positive", cfg.HeartbeatInterval)
	case cfg.LostAfter <= cfg.HeartbeatInterval:
		return cfg, badConfig("a worker is lost after %v, which must be more than the heartbeat interval of %v",
			cfg.LostAfter, cfg.HeartbeatInterval)
	case cfg.ShutdownTimeout < 0:
		return cfg, badConfig("the shutdown timeout is %v; it must not be negative", cfg.ShutdownTimeout)
	}
	if cfg.Blobs == "" {
		cfg.Blobs = "mem://"
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
