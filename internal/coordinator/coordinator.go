// Package coordinator implements the public gRPC services: it stores data sets and jobs, runs the jobs
// on the fleet of workers, and reports what they do and find.
//
// A job is acknowledged once it is durable, and an event is sent once it is durable, so that a crash
// takes back nothing that a client has seen. Runs are deterministic: after a crash an unfinished job
// goes on from its last snapshot, and its events must be the same as those that were already sent.
//
// The way of a job through the files: jobservice.go takes the call and admission.go creates the job,
// runqueue.go decides when it runs, supervise.go runs it, and end.go stores how it ended. recover.go
// goes on with what an earlier coordinator left unfinished, from what snapshots.go stored, as often as attempts.go lets it, and garbage.go
// deletes what is no longer needed, retention.go also what is kept no longer.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/waitlock"
)

// Coordinator serves the API. It is the elected leader: until it is closed, nobody else writes to the
// state.
type Coordinator struct {
	cfg    Config
	log    hclog.Logger
	engine engine

	state    store.State
	blobs    store.Blobs
	term     store.Leadership
	datasets *datasetStore
	tables   tableStore
	uploads  *uploads
	gate     *callGate
	fleet    *fleet.Fleet

	guard    guard
	listener net.Listener
	server   *grpc.Server
	health   *health.Server
	serving  atomic.Bool

	// A shutdown has three stages: stopping ends the open watches, runCtx ends the runs, and storeCtx
	// ends writing to the stores.
	stopping    chan struct{}
	stop        func()
	runCtx      context.Context
	stopRuns    context.CancelCauseFunc
	storeCtx    context.Context
	stopWriting context.CancelFunc
	close       func() error // closeAll, once

	queue       *runQueue
	retention   *retention
	supervisors sync.WaitGroup // one for each unfinished job
	sweeping    sync.WaitGroup // away what is kept no longer, or was never finished

	// admission is held while a data set is deleted and, by any number at once, while jobs are created, so that a data set
	// cannot disappear between the check that it exists and the creation of a job that uses it.
	admission waitlock.Lock
	mu        sync.Mutex
	jobs      map[string]*job // those that have not ended
}

// errStopping ends the runs when the coordinator shuts down; their jobs stay unfinished.
var errStopping = errors.New("the coordinator is shutting down")

// New opens the stores, waits to become the leader and starts the unfinished jobs over. Calls are
// answered once Serve is called; a coordinator that is never served must be closed.
func New(ctx context.Context, cfg Config) (*Coordinator, error) {
	return open(ctx, cfg, realEngine())
}

func open(ctx context.Context, cfg Config, engine engine) (_ *Coordinator, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg: cfg, log: cfg.Logger.Named("coordinator"), engine: engine,
		stopping: make(chan struct{}),
		queue:    newRunQueue(cfg.turnLimits()),
		gate:     newCallGate(cfg.Limits),
		jobs:     map[string]*job{},
	}
	c.stop = sync.OnceFunc(func() { close(c.stopping) })
	c.close = sync.OnceValue(c.closeAll)
	// Not derived from ctx, which may have a deadline for opening only.
	c.runCtx, c.stopRuns = context.WithCancelCause(context.Background())
	c.storeCtx, c.stopWriting = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			c.Close()
		}
	}()

	if err = c.openGuard(); err != nil {
		return nil, err
	}
	if err = c.openStores(ctx); err != nil {
		return nil, err
	}
	c.state, c.blobs = observeState(c.state, cfg.Observe), observeBlobs(c.blobs, cfg.Observe)
	c.retention = newRetention(c)
	if cfg.Retention.Quota > 0 {
		c.blobs = meteredBlobs{c.blobs, &c.retention.bytes}
	}
	uses := uses{now: cfg.Now, grain: min(cfg.Retention.KeepDatasets/10, time.Hour)}
	c.datasets = newDatasetStore(c.state, c.blobs, cfg.CacheBytes, c.commit, uses)
	c.tables = newTableStore(c.state, c.blobs, cfg.CacheBytes/4, c.commit, uses)
	c.uploads = newUploads(cfg)
	if c.listener, err = c.listen(); err != nil {
		return nil, err
	}
	c.log.Info("waiting to become the leader", "store", cfg.Store)
	if c.term, err = c.state.Lead(ctx, c.Addr().String()); err != nil {
		return nil, err
	}
	c.sweeping.Go(c.blobs.RemoveTemporary) // it looks at all files, which takes seconds where there are many
	if err = c.checkStores(ctx); err != nil {
		return nil, err
	}
	c.fleet = c.newFleet()
	cfg.Observe.Watch(c.snapshot)
	c.server, c.health = c.newServer()
	if err = c.resumeUnfinished(ctx); err != nil {
		return nil, fmt.Errorf("cannot resume the unfinished jobs: %w", err)
	}
	if err = c.collectGarbage(ctx); err != nil {
		return nil, fmt.Errorf("cannot look for what is no longer needed: %w", err)
	}
	if cfg.Retention != (Retention{}) {
		c.sweeping.Go(func() { c.retention.run(c.runCtx) })
	}
	return c, nil
}

func (c *Coordinator) listen() (net.Listener, error) {
	if c.cfg.Listener != nil {
		return c.cfg.Listener, nil
	}
	listener, err := net.Listen("tcp", c.cfg.Listen)
	if err != nil {
		return nil, fault.Invalid("CANNOT_LISTEN", "cannot listen on %s: %v", c.cfg.Listen, err)
	}
	return listener, nil
}

// Addr is the address that the coordinator listens on.
func (c *Coordinator) Addr() net.Addr { return c.listener.Addr() }

// Serve answers calls until ctx ends and then closes the coordinator: the health service reports
// NOT_SERVING, open watches end with UNAVAILABLE, running jobs stop and are left to the next
// coordinator, and other calls may finish within the shutdown timeout. The error is nil when ctx ended,
// and not when the leadership was lost.
func (c *Coordinator) Serve(ctx context.Context) error {
	c.log.Info("serving", "address", c.Addr().String(), "version", c.cfg.Version)
	served := make(chan error, 1)
	c.serving.Store(true)
	go func() { served <- c.server.Serve(c.listener) }()

	var err error
	select {
	case <-ctx.Done():
		c.log.Info("shutting down")
	case <-c.term.Lost():
		err = errors.New("another coordinator leads now, or the store cannot be reached; this one stops")
		if failed := c.stateFailure(ctx); failed != nil {
			err = failed
		}
	case err = <-served:
		served <- nil
	}
	c.drain()
	err = errors.Join(err, c.Close())
	if serveErr := <-served; err == nil && !errors.Is(serveErr, grpc.ErrServerStopped) {
		err = serveErr
	}
	return err
}

// drain ends the calls that would stay open and waits for the others to finish.
func (c *Coordinator) drain() {
	c.health.Shutdown()
	c.stop()
	c.stopRuns(errStopping)
	graceful := make(chan struct{})
	go func() { c.server.GracefulStop(); close(graceful) }()
	runsEnded := make(chan struct{})
	go func() { c.supervisors.Wait(); close(runsEnded) }()
	timeout, cancel := context.WithTimeout(context.Background(), c.cfg.ShutdownTimeout)
	defer cancel()
	select {
	case <-runsEnded:
	case <-timeout.Done(): // the store may not answer; Close aborts what waits for it
	}
	c.fleet.Close() // ends the workers' streams
	select {
	case <-graceful:
	case <-timeout.Done():
		c.log.Warn("some calls did not end in time", "timeout", c.cfg.ShutdownTimeout)
		c.server.Stop()
		<-graceful
	}
}

// Close stops everything at once and releases the stores. Unfinished jobs stay durable. It may be called
// again.
func (c *Coordinator) Close() error { return c.close() }

func (c *Coordinator) closeAll() error {
	c.stop()
	c.stopRuns(errStopping)
	c.stopWriting()
	c.supervisors.Wait()
	c.sweeping.Wait()
	if c.fleet != nil {
		c.fleet.Close()
	}
	if c.server != nil {
		c.server.Stop()
	}
	if c.listener != nil {
		c.listener.Close()
	}
	errs := []error{c.guard.close()}
	if c.state != nil {
		errs = append(errs, c.state.Close())
	}
	if c.blobs != nil {
		errs = append(errs, c.blobs.Close())
	}
	return errors.Join(errs...)
}
