// Package coordinator implements the public gRPC services: it stores data sets and jobs, runs the jobs
// on the fleet of workers, and reports what they do and find.
//
// A job is acknowledged once it is durable, and an event is sent once it is durable, so that a crash
// takes back nothing that a client has seen. Runs are deterministic: after a crash an unfinished job
// goes on from its last snapshot, and its events must be the same as those that were already sent.
//
// Of several coordinators election.go makes one the leader. Calls pass package gate, which knows who
// may call what and bounds how many calls there are.
//
// The way of a job through the files: jobservice.go takes the call and admission.go creates the job,
// runqueue.go decides when it runs, supervise.go runs it, and end.go stores how it ended. recover.go
// goes on with what an earlier coordinator left unfinished, from what snapshots.go stored, as often as
// attempts.go lets it; revoke.go starts a run over that used answers of a worker that was wrong.
// garbage.go deletes what is no longer needed, and retention.go what is kept no longer.
package coordinator

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// Coordinator serves the API while it is the elected leader: until its term is over, nobody else writes to the
// state. Before it is elected it refuses calls and names the leader (election.go).
type Coordinator struct {
	cfg    Config
	log    hclog.Logger
	engine engine

	state    store.State
	writer   *records.Writer
	blobs    store.Blobs
	term     store.Leadership // set before leading
	leading  atomic.Bool
	leader   atomic.Pointer[string] // who leads, as far as a standby knows
	datasets *content.Datasets
	tables   content.Tables
	uploads  *content.Uploads
	gate     *gate.Gate
	fleet    *fleet.Fleet

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
	predictions chan struct{} // one value for each prediction that is being made
	retention   *retention
	supervisors sync.WaitGroup // one for each unfinished job
	sweeping    sync.WaitGroup // away what is kept no longer, or was never finished

	// admission is held whole while a data set is deleted, and a share of it while a job is created, so that a data set
	// cannot disappear between the check that it exists and the creation of a job that uses it.
	admission *semaphore.Weighted
	mu        sync.Mutex
	jobs      map[string]*job // those that have not ended
}

// errStopping ends the runs when the coordinator shuts down; their jobs stay unfinished.
var errStopping = errors.New("the coordinator is shutting down")

// New opens the stores. A coordinator that has its store for itself leads when New returns, and has started the unfinished
// jobs over. One whose store is shared is a standby, and becomes the leader while it is served. Calls are
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
		stopping:    make(chan struct{}),
		queue:       newRunQueue(cfg.turnLimits()),
		predictions: make(chan struct{}, maxPredictions),
		jobs:        map[string]*job{},
		admission:   semaphore.NewWeighted(allAdmission),
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

	if c.gate, err = gate.Open(cfg.gate()); err != nil {
		return nil, err
	}
	if err = c.openStores(ctx); err != nil {
		return nil, err
	}
	c.state, c.blobs = observeState(c.state, cfg.Observe), observeBlobs(c.blobs, cfg.Observe)
	c.writer = &records.Writer{State: c.state, Context: c.storeCtx, Logger: c.log}
	c.retention = newRetention(c)
	if cfg.Retention.Quota > 0 {
		c.blobs = meteredBlobs{c.blobs, &c.retention.bytes}
	}
	c.openContent()
	if c.listener, err = c.listen(); err != nil {
		return nil, err
	}
	c.fleet = c.newFleet()
	cfg.Observe.Watch(c.snapshot)
	c.server, c.health = c.newServer()
	if store.IsShared(cfg.Store) {
		return c, nil
	}
	if err = c.lead(ctx); err != nil {
		return nil, err
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
// coordinator, and other calls may finish within the shutdown timeout. A standby first waits to lead. The error is nil
// when ctx ended, and errDeposed when the leadership was lost.
func (c *Coordinator) Serve(ctx context.Context) error {
	c.log.Info("serving", "address", c.Addr().String(), "version", c.cfg.Version)
	served := make(chan error, 1)
	c.serving.Store(true)
	go func() { served <- c.server.Serve(c.listener) }()

	err := c.awaitEnd(ctx, served)
	if !errors.Is(err, errDeposed) { // else nothing can be done for those who call, who should turn to the next leader
		c.drain()
	}
	err = errors.Join(err, c.Close())
	if serveErr := <-served; err == nil && !errors.Is(serveErr, grpc.ErrServerStopped) {
		err = serveErr
	}
	return err
}

// awaitEnd leads, if it does not yet, and waits for the reason to stop; nil means that ctx ended.
func (c *Coordinator) awaitEnd(ctx context.Context, served chan error) error {
	if !c.leading.Load() {
		if err := c.standBy(ctx, served); err != nil || ctx.Err() != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		c.log.Info("shutting down")
		return nil
	case <-c.term.Lost():
		if failed := c.stateFailure(ctx); failed != nil {
			return failed
		}
		return errDeposed
	case err := <-served:
		served <- nil
		return err
	}
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
	if c.uploads != nil {
		c.uploads.Close()
	}
	if c.listener != nil {
		c.listener.Close()
	}
	var errs []error
	if c.gate != nil {
		errs = append(errs, c.gate.Close())
	}
	if c.state != nil {
		errs = append(errs, c.state.Close())
	}
	if c.blobs != nil {
		errs = append(errs, c.blobs.Close())
	}
	return errors.Join(errs...)
}
