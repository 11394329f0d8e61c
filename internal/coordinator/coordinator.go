// Package coordinator takes in data sets and jobs, keeps them durably, runs the jobs on the fleet
// of workers, and tells whoever asks: the public gRPC services and what stands behind them.
//
// A job is acknowledged once it is durable, and an event is shown once it is durable, so that
// nothing a client has seen can be unsaid. Runs are deterministic: after a crash an unfinished job
// begins again, and its events, as they come again, must equal those already shown.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// Coordinator is one that leads: it has the state to itself until it is closed.
type Coordinator struct {
	cfg    Config
	log    hclog.Logger
	engine engine

	state    store.State
	blobs    store.Blobs
	term     store.Leadership
	datasets *shelf
	tables   *tableStore
	fleet    *fleet.Fleet

	listener net.Listener
	server   *grpc.Server
	health   *health.Server

	// Three ends, in this order: stopping tells open watches to end, work ends the runs, life
	// ends writing to the store.
	stopping chan struct{}
	stop     func()
	work     context.Context
	endWork  context.CancelCauseFunc
	life     context.Context
	endLife  context.CancelFunc
	close    func() error // letGo, once

	turns *turns
	runs  sync.WaitGroup // the goroutines of unfinished jobs

	// admission makes "this data set exists" and "a job uses it" one decision, and likewise the
	// look at a request id and its use.
	admission sync.Mutex
	mu        sync.Mutex
	jobs      map[string]*job // those that have not ended
}

// errStopping is why runs are cut short when the coordinator ends; their jobs stay unfinished.
var errStopping = errors.New("the coordinator is shutting down")

// New opens the stores, waits to become the leader, takes up unfinished jobs and listens. The
// coordinator answers calls only once it is served; without Serve it must be closed.
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
		turns:    newTurns(cfg.MaxConcurrentJobs),
		jobs:     map[string]*job{},
	}
	c.stop = sync.OnceFunc(func() { close(c.stopping) })
	c.close = sync.OnceValue(c.letGo)
	// Not children of ctx: opening may have a deadline, and serving ends in its own order.
	c.work, c.endWork = context.WithCancelCause(context.Background())
	c.life, c.endLife = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			c.Close()
		}
	}()

	if c.state, err = store.Open(ctx, cfg.Store, cfg.DataDir, c.log.Named("store")); err != nil {
		return nil, err
	}
	if c.blobs, err = store.OpenBlobs(ctx, cfg.Blobs); err != nil {
		return nil, err
	}
	c.datasets = newShelf(c.state, c.blobs, cfg.CacheBytes, c.commit)
	c.tables = newTableStore(c.state, c.blobs, cfg.CacheBytes/4, c.commit)
	if c.listener, err = c.listen(); err != nil {
		return nil, err
	}
	c.log.Info("standing for leader; waits while another coordinator leads", "store", cfg.Store)
	if c.term, err = c.state.Lead(ctx, c.Addr().String()); err != nil {
		return nil, err
	}
	c.fleet = c.newFleet()
	c.server, c.health = c.newServer()
	if err = c.resume(ctx); err != nil {
		return nil, fmt.Errorf("cannot take up the unfinished jobs: %w", err)
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

// Run opens a coordinator and serves until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	c, err := New(ctx, cfg)
	if err != nil {
		return err
	}
	return c.Serve(ctx)
}

// Serve answers calls until ctx ends, then drains: the health service says NOT_SERVING, open
// watches end with UNAVAILABLE, running jobs stop and stay durable for the next coordinator, and
// the calls under way may finish within the shutdown timeout. It closes the coordinator. It
// returns nil when ctx ended it, and an error when the leadership was lost.
func (c *Coordinator) Serve(ctx context.Context) error {
	c.log.Info("serving", "address", c.Addr().String(), "version", c.cfg.Version)
	served := make(chan error, 1)
	go func() { served <- c.server.Serve(c.listener) }()

	var err error
	select {
	case <-ctx.Done():
		c.log.Info("shutting down")
	case <-c.term.Lost():
		err = errors.New("another coordinator leads now, or the store cannot be reached; this one stops")
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

// drain ends what would keep calls open, then lets the calls under way finish.
func (c *Coordinator) drain() {
	c.health.Shutdown()
	c.stop()
	c.endWork(errStopping)
	graceful := make(chan struct{})
	go func() { c.server.GracefulStop(); close(graceful) }()
	runsEnded := make(chan struct{})
	go func() { c.runs.Wait(); close(runsEnded) }()
	timeout, cancel := context.WithTimeout(context.Background(), c.cfg.ShutdownTimeout)
	defer cancel()
	select {
	case <-runsEnded:
	case <-timeout.Done(): // the store may not answer; Close does not wait for it
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

// Close lets go of everything at once. Unfinished jobs stay durable. It may be called again.
func (c *Coordinator) Close() error { return c.close() }

func (c *Coordinator) letGo() error {
	c.stop()
	c.endWork(errStopping)
	c.endLife()
	c.runs.Wait()
	if c.fleet != nil {
		c.fleet.Close()
	}
	if c.server != nil {
		c.server.Stop()
	}
	if c.listener != nil {
		c.listener.Close()
	}
	var errs []error
	if c.state != nil {
		errs = append(errs, c.state.Close())
	}
	if c.blobs != nil {
		errs = append(errs, c.blobs.Close())
	}
	return errors.Join(errs...)
}

// Delays between attempts to reach a store that does not answer.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// commit makes a transaction durable, however long the store takes, unless the coordinator ends
// first. Trying again is safe: only the leader writes, so a transaction that happened unnoticed
// happens again without effect (or, if it demands that a key is new, ends in a conflict).
func (c *Coordinator) commit(txn store.Txn) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		_, err := c.state.Commit(c.life, txn)
		if err == nil || final(err) || c.life.Err() != nil {
			return err
		}
		c.log.Warn("the store does not answer, trying again", "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-c.life.Done():
			return err
		}
	}
}

// final tells whether the store has given its last word.
func final(err error) bool {
	if _, isFault := errors.AsType[*fault.Error](err); isFault {
		return true
	}
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotLeader) || errors.Is(err, store.ErrClosed)
}
