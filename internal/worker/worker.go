// Package worker implements a worker process: it attaches to a coordinator, holds tiles of jobs, and runs the
// coordinator's commands on them.
//
// A worker makes no decisions. It keeps one session with the coordinator across broken streams. If the coordinator
// ends the session because the worker was silent for too long, the worker drops everything that belongs to it and
// begins a new one. If another coordinator leads by then, the worker offers it the tiles that it has (kept.go).
//
// Concurrency: one goroutine per stream sends and one receives. Each job has a goroutine that runs its commands in
// order, so that heartbeats and other jobs never wait for a computation.
package worker

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects/ranged"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// Config configures a worker.
type Config struct {
	Coordinator  string // HOST:PORT, or several separated by commas, one of which leads
	Name         string // for people; empty means the host name
	Threads      int    // 0 means all cores
	MemoryBytes  uint64 // for jobs and data sets; 0 means no limit. The process takes up to RuntimeBytes more
	Version      string
	Logger       hclog.Logger
	Dial         credentials.Dial  // how the connection is encrypted, and the worker's certificate
	DialOptions  []grpc.DialOption // added after the worker's own, which they override
	LeaveTimeout time.Duration     // how long a leaving worker waits for its tiles to move; 0 means 25 s
	KeepFor      time.Duration     // how long tiles are kept for another coordinator; 0 means a minute

	// Exchange says whether the worker keeps data sets on disk and passes them on to other workers.
	Exchange exchange.Settings

	// Observe receives events for metrics and traces; nil disables them.
	Observe *observe.Worker

	// Warning describes a problem with the configuration, shown in the log and in lists of workers; empty if there is
	// none. It follows the words "this worker".
	Warning string
	// SharedDataset returns data sets that are in the memory of this process and need not be fetched, or nil. It may
	// be nil.
	SharedDataset func(id string) dataset.Dataset
	sharesMemory  bool // SharedDataset was given
}

// defaultLeaveTimeout is less than the 30 s after which Kubernetes kills a container that it stops.
const defaultLeaveTimeout = 25 * time.Second

// DefaultKeepFor is how long tiles are kept for another coordinator.
const DefaultKeepFor = time.Minute

// DefaultCacheBytes is the size of the cache of a worker with a folder for one.
const DefaultCacheBytes = 20 << 30

// refuseEarlier is how long the worker's coordinator must be gone before the worker accepts one of an earlier term.
// By then a leader that was replaced knows it by its own clock, so a coordinator with an earlier term has started
// over, with another data directory or a backup.
const refuseEarlier = 10 * time.Second

// retryPolicy is the backoff between attempts to reach a coordinator. Jobs wait for the workers that hold their
// tiles, so pauses are short.
var retryPolicy = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 500 * time.Millisecond}

// worker is the state that outlives sessions.
type worker struct {
	cfg      Config
	log      hclog.Logger
	leader   *leader
	memory   *memory
	datasets *datasets
	exchange *exchange.Exchange
	objects  *http.Client   // reads objects
	session  *session       // nil before the first welcome
	term     int64          // largest term seen; reset to 0 after refuseEarlier
	kept     *kept          // jobs of earlier sessions
	running  sync.WaitGroup // goroutines of jobs, including those of ended sessions
	offers   atomic.Uint64  // number of jobs created
	received atomic.Uint64  // parts of data sets that have arrived
	heard    atomic.Uint64  // messages of the coordinator in transfers
	attached atomic.Bool    // the coordinator has sent a welcome on the current stream
	jobs     atomic.Int32   // number of jobs of all sessions
}

// Run serves a coordinator until ctx ends or the worker is drained. When ctx ends, it waits until its tiles are
// placed elsewhere, at most LeaveTimeout. It returns an error only if another attempt would fail too, for example
// because the coordinator has another version.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if cfg.Coordinator == "" {
		return fault.Invalid("NO_COORDINATOR", "a worker needs the coordinator's address")
	}
	leader, err := newLeader(cfg.Coordinator, func(address string) ([]grpc.DialOption, error) {
		secured, err := cfg.Dial.Options(cfg.Logger, address)
		return append(secured, dialOptions(cfg)...), err
	})
	if err != nil {
		return err
	}
	defer leader.Close()
	w := &worker{
		cfg: cfg, log: cfg.Logger.With("worker", cfg.Name), leader: leader, kept: newKept(),
		objects: ranged.NewClient(),
		memory:  newMemory(int64(min(cfg.MemoryBytes, planning.Unlimited))),
	}
	defer w.objects.CloseIdleConnections()
	w.datasets = newDatasets(w.memory, w.log)
	if cfg.Warning != "" {
		w.log.Warn("this worker " + cfg.Warning)
	}
	if w.exchange, err = exchange.Open(cfg.Exchange, w.exchangeConfig(), cfg.Dial); err != nil {
		return err
	}
	defer w.exchange.Close()
	w.memory.reclaim = []func(int64){w.datasets.evict, w.exchange.Evict, func(int64) { w.kept.drop() }}
	defer cfg.Observe.Watch(w.gauges)()
	defer w.running.Wait()
	defer w.kept.drop()
	defer w.endSession()
	return w.serve(ctx)
}

// serve attaches to the coordinator that leads, again whenever a stream breaks.
func (w *worker) serve(ctx context.Context) error {
	lost := time.Now()
	failedBefore := false
	for pause := dial.NewBackoff(retryPolicy); ; {
		began := time.Now()
		attached, err := w.attach(ctx)
		switch {
		case errors.Is(err, errFarewell):
			w.log.Info("the coordinator said farewell")
			return nil
		case ctx.Err() != nil:
			return nil
		case isPermanent(err):
			return wire.Fault(err)
		}
		level := hclog.Warn
		if _, standby := wire.LeaderOf(err); standby || failedBefore {
			level = hclog.Debug
		}
		w.log.Log(level, "not attached; trying again", "coordinator", w.leader.Current, "error",
			credentials.FlagTerms().Explain(err.Error()))
		failedBefore = !attached
		triedAll := w.leader.failed(err)
		if attached {
			pause.Reset()
			lost = time.Now()
			if time.Since(began) > retryPolicy.Max {
				continue // at once, because the coordinator takes a worker that stays away for one that has ended
			}
		}
		if time.Since(lost) > min(refuseEarlier, w.cfg.KeepFor) {
			w.term = 0
		}
		if w.session != nil && time.Since(lost) > w.cfg.KeepFor {
			w.log.Warn("no coordinator can be reached: dropping the tiles", "session", w.session.id)
			w.endSession()
		}
		if triedAll && pause.Wait(ctx) != nil {
			return nil
		}
	}
}

// isPermanent reports whether attaching again would fail in the same way.
func isPermanent(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.Unimplemented, codes.Unauthenticated,
		codes.PermissionDenied:
		return true
	}
	return false
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Threads <= 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	c.LeaveTimeout = cmp.Or(max(0, c.LeaveTimeout), defaultLeaveTimeout)
	c.KeepFor = cmp.Or(max(0, c.KeepFor), DefaultKeepFor)
	if c.sharesMemory = c.SharedDataset != nil; !c.sharesMemory {
		c.SharedDataset = func(string) dataset.Dataset { return nil }
	}
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	return c
}

func dialOptions(cfg Config) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.WorkerMessageBytes),
			grpc.MaxCallSendMsgSize(wire.WorkerMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.Config{BaseDelay: retryPolicy.First, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: retryPolicy.Max},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Detects a coordinator whose machine died; grpc does not allow a shorter time.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
	return slices.Concat(options, cfg.Observe.DialOptions(), cfg.DialOptions)
}
