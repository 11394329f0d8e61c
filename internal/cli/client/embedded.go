package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/worker"
)

// embeddedAddress is resolved by the dialer alone: there is no port behind it.
const embeddedAddress = "passthrough:///embedded"

// embeddedLog is the level of an embedded cluster's log: the errors of a run are told by the run.
const embeddedLog = "error"

// startEmbedded starts a coordinator that forgets everything at its end, and its workers, joined by
// pipes. It lives until it is stopped, also when ctx ends, so that a job can be cancelled in order.
func StartEmbedded(ctx context.Context, workers int, log io.Writer) (*Client, error) {
	logger, err := shell.Logger("cleave", embeddedLog, log)
	if err != nil {
		return nil, err
	}
	const pipeBytes = 1 << 20
	listener := bufconn.Listen(pipeBytes)
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })

	cfg := coordinator.DefaultConfig()
	cfg.Listener, cfg.Store, cfg.Blobs = listener, "memory", "mem://"
	cfg.Logger, cfg.Version = logger.Named("coordinator"), shell.Version()
	k, err := StartCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	k.AddWorkers(workers, worker.Config{
		Coordinator: embeddedAddress,
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		DialOptions: []grpc.DialOption{dial},
	})
	waiting, done := k.During(ctx)
	defer done()
	if err := k.AwaitWorkers(waiting, workers); err != nil {
		k.Stop()
		return nil, err
	}
	c, err := Connect(embeddedAddress, dial)
	if err != nil {
		k.Stop()
		return nil, err
	}
	c.embedded = k
	return c, nil
}

// cluster is a coordinator and workers in this process.
type cluster struct {
	Address      net.Addr
	AwaitWorkers func(ctx context.Context, workers int) error // until so many are ready
	// broken ends, with the cause, when a part breaks down.
	Broken context.Context
	fail   context.CancelCauseFunc

	stopWorkers, stopCoordinator context.CancelFunc
	serving, working             context.Context
	coordinator, workers         sync.WaitGroup
}

func StartCluster(ctx context.Context, cfg coordinator.Config) (*cluster, error) {
	c, err := coordinator.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	life := context.WithoutCancel(ctx)
	k := &cluster{Address: c.Addr(), AwaitWorkers: c.AwaitWorkers}
	k.Broken, k.fail = context.WithCancelCause(life)
	k.serving, k.stopCoordinator = context.WithCancel(life)
	k.working, k.stopWorkers = context.WithCancel(life)
	k.coordinator.Go(func() { k.watchEnd(k.serving, "the coordinator", c.Serve(k.serving)) })
	return k, nil
}

// addWorkers starts workers that share the machine's cores and memory.
func (k *cluster) AddWorkers(count int, cfg worker.Config) {
	worker.LimitProcess(shell.DefaultMemory())
	for i := range count {
		cfg := cfg
		cfg.Name = fmt.Sprintf("worker-%d", i)
		cfg.Threads = max(1, runtime.GOMAXPROCS(0)/count)
		cfg.MemoryBytes = shell.DefaultMemory() / uint64(count)
		cfg.LeaveTimeout = time.Millisecond // all leave at once: there is nobody to take over
		k.workers.Go(func() { k.watchEnd(k.working, cfg.Name, worker.Run(k.working, cfg)) })
	}
}

// watch tells everybody when a part ended that was not stopped.
func (k *cluster) watchEnd(ctx context.Context, part string, err error) {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return
	}
	if err == nil {
		err = errors.New("it ended before its time")
	}
	k.fail(fmt.Errorf("%s broke down: %w", part, err))
}

// during is ctx, but it ends with the cause when a part breaks down.
func (k *cluster) During(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(k.Broken, func() { cancel(context.Cause(k.Broken)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// stop ends the workers, then the coordinator.
func (k *cluster) Stop() {
	k.stopWorkers()
	k.workers.Wait()
	k.stopCoordinator()
	k.coordinator.Wait()
}

// breakdown is what broke down, nil when nothing did.
func (k *cluster) Err() error { return context.Cause(k.Broken) }
