// Package coordinator implements the public gRPC services. It opens the stores and the servers, and makes one of
// several coordinators that share a store the leader. The packages below do the rest: jobs runs the jobs, datasets
// stores data sets and tables, gate decides who may call.
package coordinator

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/store"
)

// Coordinator serves the API while it is the elected leader. Until its term ends, no other coordinator writes to the
// state. Before it is elected it rejects calls and names the current leader (see election.go).
//
// What it consists of is constructed by New, each part from the ones before: the storage, what runs jobs, and what
// answers calls. It is safe for concurrent use.
type Coordinator struct {
	cfg    Config
	log    hclog.Logger
	memory memory
	addr   net.Addr

	stores  Stores // what is open of them
	gate    *gate.Gate
	storage *storage
	runs    *runs
	calls   *calls

	past    history                // changed by lead, and read once Serve has returned
	term    atomic.Pointer[term]   // nil until this coordinator leads
	leader  atomic.Pointer[string] // address of the current leader, as last seen by a standby; nil or "" if unknown
	serving atomic.Bool

	// A shutdown has two stages: canceling runCtx, by stop, ends the open watches and the runs, and canceling storeCtx
	// ends writes to the stores.
	runCtx      context.Context
	stop        func()
	storeCtx    context.Context
	stopWriting context.CancelFunc
	sweeping    signal.Group  // background cleanups
	cleaned     chan struct{} // closed once a leader has deleted what earlier coordinators left behind
	disowned    chan error    // receives the error if the blobs are unusable, such as those of another cluster
	close       func() error  // runs closeAll once and returns its error
}

// term is the time in which a coordinator leads.
type term struct{ store.Leadership }

// New opens the stores and returns a coordinator that does not answer calls until Serve is called. If the store is
// not shared, the coordinator already leads when New returns and has resumed the unfinished jobs. If the store is
// shared, it is a standby, and Serve makes it run for leader. A coordinator that is never served must be closed. New
// closes whatever it has opened if it fails.
func New(ctx context.Context, cfg Config) (*Coordinator, error) { return newAfter(ctx, cfg, history{}) }

// newAfter is New in a process in which other coordinators have ended.
func newAfter(ctx context.Context, cfg Config, past history) (_ *Coordinator, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg: cfg, log: cfg.Logger.Named("coordinator"), memory: newMemory(cfg), stores: cfg.Stores, past: past,
		cleaned: make(chan struct{}), disowned: make(chan error, 1),
	}
	c.close = sync.OnceValue(c.closeAll)
	// Not derived from ctx, whose deadline may be meant for opening only.
	runCtx, stop := context.WithCancelCause(context.Background())
	c.runCtx = runCtx
	c.stop = func() { stop(jobs.ErrStopping) }
	c.storeCtx, c.stopWriting = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			c.Close()
		}
	}()

	if c.gate, err = gate.Open(cfg.gate(c.memory.requests)); err != nil {
		return nil, err
	}
	if c.stores, err = openStores(ctx, cfg, c.log, past.again); err != nil {
		return nil, err
	}
	c.storage = newStorage(c.storeCtx, cfg, c.log, c.memory.parts, c.stores)
	listener, err := c.listen()
	if err != nil {
		return nil, err
	}
	c.addr = listener.Addr()
	port := httpapi.NewPort(listener, httpapi.PortConfig{
		TLS: c.gate.TLS(), Timeout: gate.HandshakeTimeout, Logger: c.log.Named("port"),
	})
	c.runs = newRuns(c.runCtx, cfg, c.log, c.memory, c.storage, past.terms)
	c.calls = c.newCalls(port)
	cfg.Observe.Watch(c.Gauges)
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

// Addr returns the address that the coordinator listens on.
func (c *Coordinator) Addr() net.Addr { return c.addr }

// Serve answers calls until ctx ends and then closes the coordinator: the health service reports NOT_SERVING, open
// watches end with UNAVAILABLE, running jobs stop and are left to the next coordinator, and other calls may finish
// within the shutdown timeout. A standby first waits to become the leader. Serve returns nil if ctx ended, and
// errDeposed if leadership was lost.
func (c *Coordinator) Serve(ctx context.Context) error {
	c.log.Info("serving", "address", c.Addr().String(), "version", c.cfg.Version)
	served := make(chan struct{})
	c.serving.Store(true)
	var failed error
	go func() { defer close(served); failed = c.serve() }()

	err := c.awaitEnd(ctx, served)
	// A deposed leader can do nothing for its callers; they should go to the next leader at once.
	if !errors.Is(err, errDeposed) {
		c.drain()
	}
	closed := c.Close()
	<-served
	if err == nil && !errors.Is(failed, grpc.ErrServerStopped) {
		err = failed
	}
	return errors.Join(err, closed)
}

// serve serves gRPC and HTTP on one port until the coordinator is closed or its listener fails.
func (c *Coordinator) serve() error {
	accepted := make(chan error, 1)
	ended := make(chan struct{})
	go func() { accepted <- c.calls.port.Serve() }()
	go func() {
		defer close(ended)
		_ = c.calls.http.Serve(c.calls.port.HTTP()) // ends with the port
	}()
	err := c.calls.server.Serve(c.calls.port.GRPC())
	_ = c.calls.port.Close()
	_ = c.calls.http.Close()
	<-ended
	if failed := <-accepted; !errors.Is(failed, net.ErrClosed) {
		return failed
	}
	return err
}

// awaitEnd makes a standby lead, then blocks until there is a reason to stop. It returns nil if ctx ended or served was
// closed.
func (c *Coordinator) awaitEnd(ctx context.Context, served <-chan struct{}) error {
	if c.term.Load() == nil {
		if err := c.standBy(ctx, served); err != nil || c.term.Load() == nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		c.log.Info("shutting down")
		return nil
	case <-c.term.Load().Lost():
		if failed := c.storage.failure(ctx); failed != nil {
			return failed
		}
		return errDeposed
	case err := <-c.disowned:
		return err
	case <-served:
		return nil
	}
}

// handlerGrace is how long a shutdown waits for calls to return whose connections it has closed.
const handlerGrace = time.Second

// drain ends the calls that would stay open forever and waits up to ShutdownTimeout for the others to finish.
func (c *Coordinator) drain() {
	c.calls.health.Shutdown()
	c.stop()
	graceful := make(chan struct{})
	timeout, cancel := context.WithTimeout(context.Background(), c.cfg.ShutdownTimeout)
	defer cancel()
	go func() {
		defer close(graceful)
		_ = c.calls.http.Shutdown(timeout) // its requests are calls of the gRPC server
		c.calls.server.GracefulStop()
	}()
	runsEnded := make(chan struct{})
	go func() { c.runs.jobs.Close(); close(runsEnded) }()
	select {
	case <-runsEnded:
	case <-timeout.Done(): // the store may be hanging; Close aborts whatever waits for it
	}
	c.runs.fleet.Close() // ends the workers' streams
	select {
	case <-graceful:
	case <-timeout.Done():
		c.log.Warn("some calls did not end in time", "timeout", c.cfg.ShutdownTimeout)
		c.calls.server.Stop()
		select {
		case <-graceful:
		case <-time.After(handlerGrace): // a call that only computes may take minutes
		}
	}
}

// Close stops everything at once and releases the stores. Unfinished jobs stay durable. Further calls return the
// error of the first.
func (c *Coordinator) Close() error { return c.close() }

// closeAll releases whatever was opened, last first, except that runs end before the calls that watch them. New also
// calls it on a half-opened coordinator.
func (c *Coordinator) closeAll() error {
	c.stop()
	c.stopWriting()
	c.sweeping.Close()
	if c.calls != nil {
		c.runs.close()
		c.calls.close()
	}
	if c.storage != nil {
		c.storage.writer.Wait()
	}
	var err error
	if c.gate != nil {
		err = c.gate.Close()
	}
	if c.cfg.Listener != nil {
		_ = c.cfg.Listener.Close() // the port may have closed it
	}
	return errors.Join(err, c.stores.close())
}
