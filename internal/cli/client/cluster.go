package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/objects"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/worker"
)

// Cluster runs a coordinator and its workers in this process. When one of them fails, Err returns why, and the
// contexts that Context made end.
type Cluster struct {
	*coordinator.Coordinator

	// Drained is called when a worker was drained, with the number of workers that are left. If it is nil, a worker
	// that ends is a failure. Set it before AddWorkers.
	Drained func(name string, left int)

	broken context.Context // ends, with the cause, when a part fails
	fail   context.CancelCauseFunc

	// The coordinator runs until serving ends, the workers until working ends.
	serving, working             context.Context
	stopWorkers, stopCoordinator context.CancelFunc
	coordinatorDone, workersDone sync.WaitGroup
}

// StartCluster starts a coordinator, which runs until Stop is called, even if ctx ends before.
func StartCluster(ctx context.Context, cfg coordinator.Config) (*Cluster, error) {
	c, err := coordinator.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	unbounded := context.WithoutCancel(ctx)
	cluster := &Cluster{Coordinator: c}
	cluster.broken, cluster.fail = context.WithCancelCause(unbounded)
	cluster.serving, cluster.stopCoordinator = context.WithCancel(unbounded)
	cluster.working, cluster.stopWorkers = context.WithCancel(unbounded)
	cluster.coordinatorDone.Go(func() {
		cluster.checkEnd(cluster.serving, "the coordinator", c.Serve(cluster.serving))
	})
	return cluster, nil
}

// AddWorkers starts workers that share the cores and the memory of the machine equally.
func (c *Cluster) AddWorkers(count int, cfg worker.Config) {
	worker.LimitProcess(memlimit.Default())
	var left atomic.Int32
	left.Store(int32(count))
	for i := range count {
		cfg := cfg
		cfg.Name = fmt.Sprintf("worker-%d", i)
		cfg.Threads = max(1, runtime.GOMAXPROCS(0)/count)
		cfg.MemoryBytes = memlimit.Default() / uint64(count)
		cfg.SharedDataset = c.SharedDataset
		cfg.LeaveTimeout = time.Millisecond // all workers leave together, so none could take over
		c.workersDone.Go(func() {
			err := worker.Run(c.working, cfg)
			if err == nil && c.working.Err() == nil && c.Drained != nil {
				c.Drained(cfg.Name, int(left.Add(-1)))
				return
			}
			c.checkEnd(c.working, cfg.Name, err)
		})
	}
}

// checkEnd ends c.broken if a part ended without having been stopped.
func (c *Cluster) checkEnd(ctx context.Context, part string, err error) {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return
	}
	if err == nil {
		err = errors.New("it ended unexpectedly")
	}
	c.fail(fmt.Errorf("%s failed: %w", part, err))
}

// Context returns a copy of ctx that also ends, with the cause, when a part of the cluster fails.
func (c *Cluster) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.broken, func() { cancel(context.Cause(c.broken)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Stop stops the workers, then the coordinator, and waits for them.
func (c *Cluster) Stop() {
	c.stopWorkers()
	c.workersDone.Wait()
	c.stopCoordinator()
	c.coordinatorDone.Wait()
}

// Err returns why a part failed, or nil.
func (c *Cluster) Err() error { return context.Cause(c.broken) }

// embeddedAddress is a placeholder: the dialer connects to a pipe.
const embeddedAddress = "passthrough:///embedded"

// StartEmbedded starts a coordinator that keeps everything in memory, and its workers, connected by pipes. They run
// until the client is closed, even if ctx ends before, so that there is time to cancel a job. Only errors are logged.
func StartEmbedded(ctx context.Context, workers int, log io.Writer) (*Client, error) {
	logger, err := (&shell.Logs{Level: "error"}).Logger("cleave", log)
	if err != nil {
		return nil, err
	}
	listener := dial.ListenPipe(dial.PipeAddr{})
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) })

	cfg := coordinator.DefaultConfig()
	cfg.Listener, cfg.Store, cfg.Blobs = listener, "memory", "mem://"
	cfg.Logger = logger.Named("coordinator")
	cfg.Version = shell.Version()
	cfg.Imports.Rules = objects.Everything(os.Getenv)
	cluster, err := StartCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cluster.AddWorkers(workers, worker.Config{
		Coordinator: embeddedAddress,
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		DialOptions: []grpc.DialOption{dial},
	})
	waiting, done := cluster.Context(ctx)
	defer done()
	if err := cluster.AwaitWorkers(waiting, workers); err != nil {
		cluster.Stop()
		return nil, err
	}
	c, err := Connect(embeddedAddress, credentials.Dial{}, dial)
	if err != nil {
		cluster.Stop()
		return nil, err
	}
	c.embedded = cluster
	return c, nil
}
