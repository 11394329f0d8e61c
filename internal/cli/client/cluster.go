package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/worker"
)

// Cluster is a coordinator and its workers in this process.
type Cluster struct {
	Address      net.Addr
	AwaitWorkers func(ctx context.Context, workers int) error // until that many are ready
	Ready        func(ctx context.Context) error              // nil, or why the coordinator is not ready

	// Drained is told that a worker of AddWorkers was drained, and how many of them are left. If it is nil, nobody can
	// drain them, and one that is drained is broken.
	Drained func(name string, left int)

	shareDataset  func(ctx context.Context, name string, data dataset.Dataset) (id string, err error)
	sharedDataset func(id string) dataset.Dataset

	broken context.Context // ends, with the cause, when a part breaks down
	fail   context.CancelCauseFunc

	stopWorkers, stopCoordinator context.CancelFunc
	serving, working             context.Context
	coordinator, workers         sync.WaitGroup
}

// StartCluster starts a coordinator. It runs until Stop is called, also when ctx ends.
func StartCluster(ctx context.Context, cfg coordinator.Config) (*Cluster, error) {
	c, err := coordinator.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	unbounded := context.WithoutCancel(ctx)
	cluster := &Cluster{Address: c.Addr(), AwaitWorkers: c.AwaitWorkers, Ready: c.Ready, shareDataset: c.ShareDataset, sharedDataset: c.SharedDataset}
	cluster.broken, cluster.fail = context.WithCancelCause(unbounded)
	cluster.serving, cluster.stopCoordinator = context.WithCancel(unbounded)
	cluster.working, cluster.stopWorkers = context.WithCancel(unbounded)
	cluster.coordinator.Go(func() { cluster.checkEnd(cluster.serving, "the coordinator", c.Serve(cluster.serving)) })
	return cluster, nil
}

// AddWorkers starts workers that share the machine's cores and memory.
func (c *Cluster) AddWorkers(count int, cfg worker.Config) {
	worker.LimitProcess(shell.DefaultMemory())
	var left atomic.Int32
	left.Store(int32(count))
	for i := range count {
		cfg := cfg
		cfg.Name = fmt.Sprintf("worker-%d", i)
		cfg.Threads = max(1, runtime.GOMAXPROCS(0)/count)
		cfg.MemoryBytes = shell.DefaultMemory() / uint64(count)
		cfg.SharedDataset = c.sharedDataset
		cfg.LeaveTimeout = time.Millisecond // all leave together: no worker is left to take over
		c.workers.Go(func() {
			err := worker.Run(c.working, cfg)
			if err == nil && c.working.Err() == nil && c.Drained != nil {
				c.Drained(cfg.Name, int(left.Add(-1)))
				return
			}
			c.checkEnd(c.working, cfg.Name, err)
		})
	}
}

// checkEnd reports a part as broken when it ended without having been stopped.
func (c *Cluster) checkEnd(ctx context.Context, part string, err error) {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return
	}
	if err == nil {
		err = errors.New("it ended before it was stopped")
	}
	c.fail(fmt.Errorf("%s broke down: %w", part, err))
}

// Context is ctx, but it also ends, with the cause, when a part of the cluster breaks down.
func (c *Cluster) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.broken, func() { cancel(context.Cause(c.broken)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Stop ends the workers, then the coordinator.
func (c *Cluster) Stop() {
	c.stopWorkers()
	c.workers.Wait()
	c.stopCoordinator()
	c.coordinator.Wait()
}

// Err is why a part broke down, nil when none did.
func (c *Cluster) Err() error { return context.Cause(c.broken) }
