// Package worker is a worker process: it attaches to a coordinator, holds tiles of jobs and runs
// the coordinator's commands on them.
//
// A worker decides nothing. It keeps one session with the coordinator across broken streams; when
// the coordinator says that the session is over (the worker was silent for too long, or the
// coordinator was started anew), everything belonging to it is dropped and a new one begins.
//
// Concurrency: one goroutine per stream sends and one receives; each job has a goroutine that runs
// its commands in order, so that heartbeats and other jobs never wait for a computation.
package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// Config is how a worker is set up.
type Config struct {
	Coordinator  string // host:port
	Name         string // for people; empty: the host's name
	Threads      int    // 0: all cores
	MemoryBytes  uint64 // for jobs and data sets; 0: no limit. The process takes up to RuntimeBytes more
	Version      string
	Logger       hclog.Logger
	DialOptions  []grpc.DialOption // after our own, so that they win
	LeaveTimeout time.Duration     // how long a leaving worker waits for its tiles to be placed elsewhere; 0: 5 s
}

const (
	defaultLeaveTimeout = 5 * time.Second
	minRetry            = 100 * time.Millisecond
	maxRetry            = 2 * time.Second
)

// worker is what lives as long as the process.
type worker struct {
	cfg      Config
	log      hclog.Logger
	client   workerv1.WorkerServiceClient
	memory   *memory
	datasets *datasets
	session  *session       // nil before the first welcome
	running  sync.WaitGroup // goroutines of jobs, also of sessions that are over
}

// Run serves a coordinator until ctx ends, when it leaves in peace (its tiles are placed elsewhere
// first, if that takes no longer than LeaveTimeout), or until it is drained. It returns an error
// only when trying again is of no use, such as a coordinator of another version.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if cfg.Coordinator == "" {
		return fault.Invalid("NO_COORDINATOR", "a worker needs the coordinator's address")
	}
	conn, err := grpc.NewClient(cfg.Coordinator, dialOptions(cfg)...)
	if err != nil {
		return fault.Invalid("BAD_ADDRESS", "the coordinator's address %q is not usable: %v", cfg.Coordinator, err)
	}
	defer conn.Close()
	w := &worker{cfg: cfg, log: cfg.Logger, client: workerv1.NewWorkerServiceClient(conn), memory: newMemory(int64(min(cfg.MemoryBytes, planning.Unlimited)))}
	w.datasets = newDatasets(w.memory)
	w.memory.spare = w.datasets.evict
	defer w.running.Wait()
	defer w.endSession()
	return w.serve(ctx)
}

// serve attaches again and again.
func (w *worker) serve(ctx context.Context) error {
	retry := minRetry
	for {
		attached, err := w.attach(ctx)
		switch {
		case errors.Is(err, errFarewell):
			w.log.Info("the coordinator said farewell")
			return nil
		case ctx.Err() != nil:
			return nil
		case hopeless(err):
			return wire.Fault(err)
		}
		if attached {
			retry = minRetry
		}
		w.log.Warn("not attached; trying again", "coordinator", w.cfg.Coordinator, "error", err)
		timer := time.NewTimer(retry/2 + rand.N(retry/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		retry = min(2*retry, maxRetry)
	}
}

// hopeless tells errors that trying again does not mend.
func hopeless(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
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
	if c.LeaveTimeout <= 0 {
		c.LeaveTimeout = defaultLeaveTimeout
	}
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	return c
}

func dialOptions(cfg Config) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.WorkerMessageBytes), grpc.MaxCallSendMsgSize(wire.WorkerMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: minRetry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxRetry},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Finds out a coordinator whose machine died without a word; grpc allows no shorter time.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
	return append(options, cfg.DialOptions...)
}
