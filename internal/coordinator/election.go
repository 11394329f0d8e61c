package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// Election is how coordinators that share a store find out which of them leads.
type Election struct {
	// Lease is how long a leader may be silent until another one is elected, in whole seconds.
	Lease time.Duration
	// Advertise is the HOST:PORT by which clients and workers reach this coordinator. Empty means the address that it listens
	// on, with the name of the machine in place of all addresses.
	Advertise string

	again    bool    // it took part before: it waits for a store that does not answer
	outlived []int64 // terms in which this process led, and that it did not end with
}

func (e Election) check() error {
	switch {
	case e.Lease < time.Second || e.Lease%time.Second != 0:
		return badConfig("the lease of the leader is %v; it must be whole seconds, at least 1s", e.Lease)
	case e.Advertise == "":
		return nil
	}
	if host, port, err := net.SplitHostPort(e.Advertise); err != nil || host == "" || port == "" {
		return badConfig("the advertised address %q is not of the form HOST:PORT", e.Advertise)
	}
	return nil
}

// errDeposed ends a term: the lease was not renewed in time, or another coordinator leads.
var errDeposed = errors.New("another coordinator leads now, or the store cannot be reached; this one stops leading")

// advertised is the address by which others reach this coordinator.
func (c *Coordinator) advertised() string {
	if c.cfg.Election.Advertise != "" {
		return c.cfg.Election.Advertise
	}
	host, port, err := net.SplitHostPort(c.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		name, err := os.Hostname()
		if err == nil {
			return net.JoinHostPort(name, port)
		}
	}
	return c.Addr().String()
}

// lead waits to become the leader, starts the unfinished jobs over, and from then on has calls answered.
func (c *Coordinator) lead(ctx context.Context) (err error) {
	c.log.Info("waiting to become the leader", "store", c.cfg.Store, "address", c.advertised())
	err = c.retry(ctx, "cannot take part in the election now, trying again", func() (err error) {
		c.term, err = c.state.Lead(ctx, c.advertised())
		return err
	})
	if err != nil {
		return err
	}
	c.sweeping.Go(func() { c.blobs.RemoveTemporary(c.storeCtx) }) // it looks at all files, which takes seconds where there are many
	if err := c.checkStores(ctx); err != nil {
		if f, is := errors.AsType[*fault.Error](err); is && f.Cause != nil { // the message says that it is in the log
			c.log.Error("the stores cannot be used", "reason", f.Reason, "cause", f.Cause)
		}
		return err
	}
	c.fleet.Begin(c.term.Revision())
	if err := c.retry(ctx, "unfinished jobs cannot be read now, trying again", func() error { return c.resumeUnfinished(ctx) }); err != nil {
		return fmt.Errorf("cannot resume the unfinished jobs: %w", err)
	}
	if err := c.retry(ctx, "the index of owners cannot be made now, trying again", func() error { return c.indexOwners(ctx) }); err != nil && !fault.Is(err, store.DiskFull) {
		return fmt.Errorf("cannot make the index of owners: %w", err)
	}
	c.leading.Store(true)
	c.setHealth(healthv1.HealthCheckResponse_SERVING)
	c.log.Info("leads", "term", c.term.Revision())
	if err := c.collectGarbage(ctx); err != nil {
		return fmt.Errorf("cannot look for what is no longer needed: %w", err)
	}
	if c.cfg.Retention != (Retention{}) {
		c.sweeping.Go(func() { c.retention.run(c.runCtx) })
	}
	return nil
}

// retry calls a function until it succeeds, ctx ends, or an error does not say that the store is unavailable: a slow disk delays
// the start of a coordinator and does not end it. Of a shared store, all errors that are not permanent may pass.
func (c *Coordinator) retry(ctx context.Context, warning string, call func() error) error {
	for pause := backoff.New(records.StoreRetries); ; {
		err := call()
		mayPass := unavailable(err) || store.IsShared(c.cfg.Store) && !store.IsPermanent(err)
		if err == nil || !mayPass {
			return err
		}
		c.log.Warn(warning, "error", err)
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

// setHealth sets the health of the server and of all its services.
func (c *Coordinator) setHealth(s healthv1.HealthCheckResponse_ServingStatus) {
	c.health.SetServingStatus("", s)
	for name := range c.server.GetServiceInfo() {
		c.health.SetServingStatus(name, s)
	}
}

// standBy waits to become the leader while the server refuses calls.
func (c *Coordinator) standBy(ctx context.Context, served chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	elected := make(chan error, 1)
	go func() { elected <- c.lead(ctx) }()
	var observed sync.WaitGroup
	observed.Go(func() { c.observeLeader(ctx) })
	defer observed.Wait()
	defer cancel()
	select {
	case err := <-elected:
		if ctx.Err() != nil {
			return nil
		}
		return err
	case err := <-served:
		served <- nil
		cancel()
		<-elected
		return err
	}
}

// observeEvery is how often a standby looks who leads.
const observeEvery = 250 * time.Millisecond

// observeLeader keeps in mind who leads, for those who ask this coordinator instead, until it leads itself.
func (c *Coordinator) observeLeader(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for !c.leading.Load() {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		name, err := c.state.Leader(asking)
		cancel()
		if err != nil || name == c.advertised() {
			name = ""
		}
		c.leader.Store(&name)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// leads tells whether this coordinator leads, for certain.
func (c *Coordinator) leads() bool { return c.leading.Load() && c.term.Current() }

// notLeading refuses a call while this coordinator does not lead, and tells who does. Only what says how the server is may
// be called then. A leader that was stopped for so long that its lease may be over does not answer either: it could tell
// what is no longer so.
func (c *Coordinator) notLeading(method string) error {
	if strings.HasPrefix(method, "/grpc.") || c.leads() {
		return nil
	}
	refusal := fault.New(fault.Unavailable, wire.NotLeader, "this coordinator does not lead; try another one, or again")
	if leader := c.leader.Load(); !c.leading.Load() && leader != nil && *leader != "" {
		refusal = fault.New(fault.Unavailable, wire.NotLeader, "this coordinator is a standby; %s leads", *leader).With(wire.LeaderKey, *leader)
	}
	return wire.Status(refusal)
}

func (c *Coordinator) leaderOnlyUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := c.notLeading(info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

func (c *Coordinator) leaderOnlyStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := c.notLeading(info.FullMethod); err != nil {
		return err
	}
	return handler(server, stream)
}

// Run serves as a coordinator until ctx ends. On a store that is shared it becomes a standby again after each term as the
// leader: everything is opened anew, so that nothing of the old term is left. It calls listening with each coordinator
// before it is served; all have the same address.
func Run(ctx context.Context, cfg Config, listening func(*Coordinator)) error {
	c, err := New(ctx, cfg)
	if err != nil {
		return err
	}
	cfg.Listen, cfg.Listener, cfg.Election.again = c.Addr().String(), nil, true
	log := c.log
	for {
		listening(c)
		err := c.Serve(ctx)
		if !store.IsShared(cfg.Store) || ctx.Err() != nil || !endsTerm(err) {
			return err
		}
		log.Warn("becoming a standby", "why", err)
		if c.term != nil {
			cfg.Election.outlived = append(cfg.Election.outlived, c.term.Revision())
		}
		for pause := backoff.New(records.StoreRetries); ; {
			if c, err = New(ctx, cfg); err == nil {
				break
			}
			if ctx.Err() != nil {
				return nil
			}
			log.Warn("cannot be a standby yet, trying again", "error", err)
			if pause.Wait(ctx) != nil {
				return nil
			}
		}
	}
}

// endsTerm tells whether an error only means that this coordinator cannot lead now.
func endsTerm(err error) bool {
	f, isFault := errors.AsType[*fault.Error](err)
	return errors.Is(err, errDeposed) || interrupted(err) || !store.IsPermanent(err) && isFault && f.Kind == fault.Unavailable
}
