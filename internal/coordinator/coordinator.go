// Package coordinator implements the public gRPC services. It opens the stores and the servers, and makes one of
// several coordinators that share a store the leader. The packages below do the rest: jobs runs the jobs, datasets
// stores data sets and tables, gate decides who may call.
package coordinator

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/store"
)

// Coordinator serves the API while it is the elected leader. Until its term ends, no other coordinator writes to the
// state. Before it is elected it rejects calls and names the current leader (see election.go).
//
// It is safe for concurrent use. Its fields are set by New, and term by lead, before anything else uses them; later
// only the atomic ones change.
type Coordinator struct {
	cfg    Config
	log    hclog.Logger
	memory memory

	// Storage.
	state    store.State
	blobs    store.Blobs
	writer   *records.Writer
	garbage  *records.Collector
	hold     records.Hold // no blob is deleted while a backup reads them
	disowned chan error   // receives the error if the blobs turn out to be unusable, such as those of another cluster

	blobBytes  atomic.Int64 // of all blobs; negative until they are counted
	freedBytes atomic.Int64 // of all blobs that were deleted so far

	// Leadership.
	term     store.Leadership // set by lead, before leading becomes true
	restored bool             // set by lead once the backup to restore is restored
	leading  atomic.Bool
	leader   atomic.Pointer[string] // address of the current leader, as last seen by a standby; nil or "" if unknown

	// Data.
	datasets *datasets.Datasets
	tables   datasets.Tables
	uploads  *datasets.Uploads
	importer *imports.Importer
	problems *runner.ProblemMaker
	parts    *results.Parts

	// Calls.
	addr    net.Addr
	port    *httpapi.Port
	gate    *gate.Gate
	server  *grpc.Server
	http    *httpapi.Server
	health  *health.Server
	serving atomic.Bool

	room       *api.Room
	downloads  *queue.DownloadMemory
	results    *results.Service
	jobService *api.Jobs

	// Runs.
	fleet     *fleet.Fleet
	jobs      *jobs.Manager
	webhooks  *webhook.Sender
	retention *records.Sweeper

	// A shutdown has two stages: canceling runCtx, by stop, ends the open watches and the runs, and canceling storeCtx
	// ends writes to the stores.
	runCtx      context.Context
	stop        func()
	storeCtx    context.Context
	stopWriting context.CancelFunc
	sweeping    signal.Group   // background cleanups
	cleaned     chan struct{}  // closed once a leader has deleted what earlier coordinators left behind
	close       func() error   // runs closeAll once and returns its error
	opened      []func() error // each releases something that New has opened
}

// New opens the stores and returns a coordinator that does not answer calls until Serve is called. If the store is
// not shared, the coordinator already leads when New returns and has resumed the unfinished jobs. If the store is
// shared, it is a standby, and Serve makes it run for leader. A coordinator that is never served must be closed. New
// closes whatever it has opened if it fails.
func New(ctx context.Context, cfg Config) (_ *Coordinator, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg: cfg, log: cfg.Logger.Named("coordinator"), disowned: make(chan error, 1), memory: newMemory(cfg),
		cleaned: make(chan struct{}),
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

	if err = c.openStorage(ctx); err != nil {
		return nil, err
	}
	if err = c.openPort(); err != nil {
		return nil, err
	}
	unfinished := jobs.NewUnfinishedJobs()
	c.openData(unfinished)
	c.openRuns(unfinished)
	c.openCalls()
	c.openServers()
	if store.IsShared(cfg.Store) {
		return c, nil
	}
	if err = c.lead(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// openStorage opens the stores and what reads and writes them.
func (c *Coordinator) openStorage(ctx context.Context) (err error) {
	c.state, c.blobs = c.cfg.Stores.State, c.cfg.Stores.Blobs
	c.opened = append(c.opened, c.closeStores)
	if c.cfg.Listener != nil {
		// the port may have closed it
		c.opened = append(c.opened, func() error { _ = c.cfg.Listener.Close(); return nil })
	}
	if c.gate, err = gate.Open(c.cfg.gate(c.memory.requests)); err != nil {
		return err
	}
	c.opened = append(c.opened, c.gate.Close)
	if err = c.openStores(ctx); err != nil {
		return err
	}
	c.state = store.MeterState(c.state, c.cfg.Observe)
	c.blobs = store.MeterBlobs(c.blobs, c.cfg.Observe)
	c.blobBytes.Store(-1) // until the first sweep counts them
	if c.cfg.Retention.Quota > 0 {
		c.blobs = store.CountBlobs(c.blobs, &c.blobBytes, &c.freedBytes)
	}
	c.writer = &records.Writer{State: c.state, Context: c.storeCtx, Logger: c.log}
	c.garbage = &records.Collector{Blobs: c.blobs, Writer: c.writer, Hold: &c.hold, Logger: c.log}
	c.webhooks = &webhook.Sender{
		Config: c.cfg.Webhooks, State: c.state, Delete: c.writer.DeleteKeys, Logger: c.log.Named("webhook"),
		Now: c.cfg.Now,
	}
	c.opened = append(c.opened, func() error { c.writer.Wait(); c.webhooks.Wait(); return nil })
	return nil
}

// openPort begins to listen.
func (c *Coordinator) openPort() error {
	listener, err := c.listen()
	if err != nil {
		return err
	}
	c.addr = listener.Addr()
	c.port = httpapi.NewPort(listener, httpapi.PortConfig{
		TLS: c.gate.TLS(), Timeout: gate.HandshakeTimeout, Logger: c.log.Named("port"),
	})
	return nil
}

// openData constructs what keeps data sets and tables. unfinished are the jobs that use them.
func (c *Coordinator) openData(unfinished *jobs.UnfinishedJobs) {
	cfg := datasets.Config{
		Blobs: c.blobs, Writer: c.writer, Logger: c.log, Now: c.cfg.Now,
		CacheBytes: c.cfg.CacheBytes, UseGrain: c.cfg.Retention.UseGrain(), Users: unfinished,
		DeleteBlob: func(name string) error { return c.garbage.Delete(c.storeCtx, name) },
	}
	c.datasets = datasets.NewDatasets(cfg)
	cfg.CacheBytes /= smallerCaches
	c.tables = datasets.NewTables(cfg)
	c.uploads = datasets.NewUploads(datasets.UploadLimits{
		Memory: c.memory.uploads, MessageBytes: c.cfg.MaxMessageBytes, Stall: c.cfg.UploadStall,
		Rate: c.cfg.Limits.UploadRate, RatePerOwner: c.cfg.Limits.UploadRatePerOwner,
	})
	c.opened = append(c.opened, func() error { c.uploads.Close(); return nil })
	c.parts = &results.Parts{Blobs: c.blobs, Writer: c.writer}
	c.problems = &runner.ProblemMaker{
		Datasets: c.datasets, Tables: c.tables, MaxBytes: c.cfg.MaxDatasetBytes, MemoryBytes: c.cfg.MemoryBytes,
		Snapshots:     c.cfg.Snapshots.Interval > 0,
		CheckClusters: c.cfg.Limits.CheckClusters, CheckConstraints: c.cfg.Limits.CheckConstraints,
	}
}

// openRuns constructs what runs the jobs, and what deletes them.
func (c *Coordinator) openRuns(unfinished *jobs.UnfinishedJobs) {
	c.fleet = fleet.New(fleet.Config{
		Timing: c.cfg.Timing, Logger: c.cfg.Logger.Named("fleet"), Observe: c.cfg.Observe, Datasets: c.datasets,
	})
	c.jobs = jobs.New(unfinished, jobs.Dependencies{
		Context: c.runCtx, Outlived: c.cfg.Election.outlived,
		Writer: c.writer, Parts: c.parts, Garbage: c.garbage, Datasets: c.datasets, Tables: c.tables,
		Snapshots: &runner.SnapshotStore{
			Config: c.cfg.Snapshots, Blobs: c.blobs, Context: c.storeCtx, Hold: &c.hold,
			FreeDisk: c.cfg.Limits.FreeDisk, Logger: c.log,
		},
		Limits: queue.Limits{
			Running: c.cfg.MaxConcurrentJobs, RunningPerOwner: c.cfg.Limits.RunningPerOwner, Memory: c.memory.jobs,
		},
		Problems: c.problems, Fleet: c.fleet, Engine: c.cfg.Engine,
		Webhooks: c.webhooks, Observe: c.cfg.Observe, Logger: c.log, Version: c.cfg.Version, Now: c.cfg.Now,
	})
	c.retention = c.newRetention(&c.blobBytes, &c.freedBytes)
}

// newRetention returns what deletes expired jobs and data. total is the size of all blobs.
func (c *Coordinator) newRetention(total, freed *atomic.Int64) *records.Sweeper {
	return records.NewSweeper(records.SweeperDependencies{
		Config: c.cfg.Retention, State: c.state, Blobs: c.blobs, Total: total, Freed: freed, Hold: &c.hold,
		Logger: c.log, Now: c.cfg.Now,
		IsUnfinished: c.jobs.IsUnfinished, DeleteJob: c.jobs.Delete,
		ReadSpec: c.parts.Spec, Datasets: c.datasets, Tables: c.tables,
	})
}

// openCalls constructs what answers calls.
func (c *Coordinator) openCalls() {
	c.room = &api.Room{
		Limits: c.cfg.Limits, Calls: c.memory.calls, Blobs: c.blobs, Quota: c.retention,
		Jobs: c.jobs, Datasets: c.datasets, Tables: c.tables, Problems: c.problems,
	}
	c.downloads = queue.NewDownloadMemory(c.memory.downloads, c.memory.large, c.cfg.Limits.SlowReader)
	c.results = &results.Service{
		Ended: c.jobs.Ended, Parts: c.parts, Downloads: c.downloads,
		Rows:     datasets.NewCache(c.cfg.CacheBytes/smallerCaches, datasets.Weakly[recipe.Rows]),
		Datasets: c.datasets, Tables: c.tables, Problems: c.problems, Fleet: c.fleet,
		Borrow: c.room.Borrow, MemoryFor: c.room.MemoryFor, CheckRows: c.room.CheckTableRows,
		Predictions: make(chan struct{}, results.MaxPredictions),
		SlowReader:  c.cfg.Limits.SlowReader, PredictionWait: c.cfg.LostAfter,
	}
	c.jobService = &api.Jobs{
		Service: c.results, Manager: c.jobs, Room: c.room, Writer: c.writer, Webhooks: c.cfg.Webhooks, Now: c.cfg.Now,
	}
	c.importer = imports.New(c.cfg.Imports, imports.Dependencies{
		Fleet: c.fleet, Tables: c.tables, Uploads: c.uploads, Writer: c.writer,
		CheckDisk: c.room.CheckDisk, MaxBytes: c.cfg.MaxDatasetBytes, Logger: c.log.Named("import"), Now: c.cfg.Now,
	})
}

// openServers constructs the servers, which do not answer calls yet.
func (c *Coordinator) openServers() {
	c.cfg.Observe.Watch(c.Gauges)
	c.server, c.health = c.newServer()
	c.http = c.newHTTP()
	c.opened = append(c.opened, func() error {
		c.jobs.Close()
		c.fleet.Close()
		c.server.Stop()
		c.importer.Close()
		_ = c.http.Close()
		_ = c.port.Close()
		return nil
	})
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
	go func() { accepted <- c.port.Serve() }()
	go func() {
		defer close(ended)
		_ = c.http.Serve(c.port.HTTP()) // ends with the port
	}()
	err := c.server.Serve(c.port.GRPC())
	_ = c.port.Close()
	_ = c.http.Close()
	<-ended
	if failed := <-accepted; !errors.Is(failed, net.ErrClosed) {
		return failed
	}
	return err
}

// awaitEnd makes a standby lead, then blocks until there is a reason to stop. It returns nil if ctx ended or served was
// closed.
func (c *Coordinator) awaitEnd(ctx context.Context, served <-chan struct{}) error {
	if !c.leading.Load() {
		if err := c.standBy(ctx, served); err != nil || !c.leading.Load() {
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
	c.health.Shutdown()
	c.stop()
	graceful := make(chan struct{})
	timeout, cancel := context.WithTimeout(context.Background(), c.cfg.ShutdownTimeout)
	defer cancel()
	go func() {
		defer close(graceful)
		_ = c.http.Shutdown(timeout) // its requests are calls of the gRPC server
		c.server.GracefulStop()
	}()
	runsEnded := make(chan struct{})
	go func() { c.jobs.Close(); close(runsEnded) }()
	select {
	case <-runsEnded:
	case <-timeout.Done(): // the store may be hanging; Close aborts whatever waits for it
	}
	c.fleet.Close() // ends the workers' streams
	select {
	case <-graceful:
	case <-timeout.Done():
		c.log.Warn("some calls did not end in time", "timeout", c.cfg.ShutdownTimeout)
		c.server.Stop()
		select {
		case <-graceful:
		case <-time.After(handlerGrace): // a call that only computes may take minutes
		}
	}
}

// Close stops everything at once and releases the stores. Unfinished jobs stay durable. Further calls return the
// error of the first.
func (c *Coordinator) Close() error { return c.close() }

// closeAll releases whatever was opened, last first; New also calls it on a half-opened coordinator.
func (c *Coordinator) closeAll() error {
	c.stop()
	c.stopWriting()
	c.sweeping.Close()
	var errs []error
	for _, release := range slices.Backward(c.opened) {
		errs = append(errs, release())
	}
	return errors.Join(errs...)
}
