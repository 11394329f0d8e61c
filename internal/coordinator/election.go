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

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// Election configures how coordinators that share a store elect their leader.
type Election struct {
	// Lease is how long a leader may be silent before another one is elected, in whole seconds.
	Lease time.Duration
	// Advertise is the HOST:PORT at which clients and workers reach this coordinator. Empty means the address it
	// listens on, with the host name in place of an unspecified address such as 0.0.0.0.
	Advertise string
}

func (e Election) check() error {
	switch {
	case e.Lease < time.Second || e.Lease%time.Second != 0:
		return badConfig("the lease of the leader is %v; it must be whole seconds, at least 1s (--lease)", e.Lease)
	case e.Advertise == "":
		return nil
	}
	if host, port, err := net.SplitHostPort(e.Advertise); err != nil || host == "" || port == "" {
		return badConfig("the advertised address is %q; it must be of the form HOST:PORT (--advertise)", e.Advertise)
	}
	return nil
}

// errDeposed ends a term: the lease was not renewed in time, or another coordinator leads.
var errDeposed = errors.New("lost leadership: another coordinator is the leader, or the store cannot be reached")

// advertised returns the address at which others reach this coordinator.
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

// lead waits to become the leader, resumes the unfinished jobs, and enables calls.
func (c *Coordinator) lead(ctx context.Context) (err error) {
	c.log.Info("waiting to become the leader", "store", c.cfg.Store, "address", c.advertised())
	var elected store.Leadership
	err = c.retry(ctx, "cannot join the election now, trying again", func() (err error) {
		elected, err = c.storage.state.Lead(ctx, c.advertised())
		return err
	})
	if err != nil {
		return err
	}
	c.past.terms = append(c.past.terms, elected.Revision())
	if err := c.restore(ctx); err != nil {
		return err
	}
	if err := c.checkStores(ctx); err != nil {
		// The message refers to the log for the cause.
		if f, is := errors.AsType[*fault.Error](err); is && f.Cause != nil {
			c.log.Error("the stores cannot be used", "reason", f.Reason, "cause", f.Cause)
		}
		return err
	}
	c.runs.fleet.Begin(elected.Revision())
	c.runs.jobs.Begin(elected.Revision())
	resume := func() error { return c.runs.jobs.ResumeAll(ctx) }
	if err := c.retry(ctx, "unfinished jobs cannot be read now, trying again", resume); err != nil {
		return fmt.Errorf("cannot resume the unfinished jobs: %w", err)
	}
	notify := func() error { return c.runs.webhooks.Start(c.runCtx) }
	if err := c.retry(ctx, "notifications cannot be read now, trying again", notify); err != nil {
		return fmt.Errorf("cannot send the notifications that are left: %w", err)
	}
	newest, err := records.NewJobID()
	if err != nil {
		return err
	}
	c.term.Store(&term{elected})
	c.calls.setHealth(healthv1.HealthCheckResponse_SERVING)
	c.log.Info("this coordinator is the leader", "term", elected.Revision())
	c.sweeping.Go(func() {
		defer close(c.cleaned)
		if err := c.storage.removeLeftovers(newest, c.needed()); err != nil && c.storeCtx.Err() == nil {
			c.log.Warn("cleanup failed; it will be retried at the next start", "error", err)
		}
	})
	if c.cfg.Retention != (records.RetentionConfig{}) {
		c.sweeping.Go(func() { c.runs.retention.Run(c.runCtx) })
	}
	return nil
}

// needed returns what is not garbage.
func (c *Coordinator) needed() needed {
	return needed{Manager: c.runs.jobs, datasets: c.storage.datasets, tables: c.storage.tables}
}

// AwaitCleanup waits until a leader has deleted what earlier coordinators left behind, and what was deleted during a
// backup, unless it also deletes what is kept no longer, which goes on. Tests that look at the stores call it first.
func (c *Coordinator) AwaitCleanup() {
	<-c.cleaned
	if c.cfg.Retention == (records.RetentionConfig{}) {
		c.sweeping.Wait()
	}
}

// deletePostponed deletes in the background what was to be deleted during a backup.
func (c *Coordinator) deletePostponed() {
	c.sweeping.Go(func() {
		if err := c.storage.garbage.Collect(c.storeCtx, c.needed()); err != nil && c.storeCtx.Err() == nil {
			c.log.Warn("what was deleted during a backup is left until the next start", "error", err)
		}
	})
}

// retry calls a function until it succeeds, ctx ends, or it fails with an error that does not mean that the store is
// unavailable. A slow disk thus delays the start of a coordinator instead of failing it. With a shared store, every
// error that is not permanent is retried, and a standby also waits for space in the store.
func (c *Coordinator) retry(ctx context.Context, warning string, call func() error) error {
	for pause := dial.NewBackoff(records.StoreRetries); ; {
		err := call()
		answer := store.AnswerOf(err)
		mayPass := answer == store.Unanswered || store.IsShared(c.cfg.Store) && answer.MayPassWithSpace()
		if !mayPass {
			return err
		}
		c.log.Warn(warning, "error", err)
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

// standBy waits to become the leader while the server rejects calls. It returns nil if the coordinator leads, and also
// if ctx ended or served was closed before that.
func (c *Coordinator) standBy(ctx context.Context, served <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() { c.observeLeader(ctx) })
	waiting.Go(func() {
		select {
		case <-served:
			cancel()
		case <-ctx.Done():
		}
	})
	if err := c.lead(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// observeEvery is how often a standby looks up the current leader.
const observeEvery = 250 * time.Millisecond

// observeLeader keeps c.leader up to date, so that rejected calls can name the leader. It returns when this
// coordinator leads or ctx ends.
func (c *Coordinator) observeLeader(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for c.term.Load() == nil {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		name, err := c.storage.state.Leader(asking)
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

// leads reports whether this coordinator is certain to lead.
func (c *Coordinator) leads() bool {
	t := c.term.Load()
	return t != nil && t.Current()
}

// notLeading returns an error that names the leader, unless this coordinator leads. Calls of gRPC's own services, such
// as health checks, are always allowed. A leader that was suspended for so long that its lease may have expired does
// not answer either, because its answer could be outdated. A leader whose store has failed says that.
func (c *Coordinator) notLeading(ctx context.Context, method string) error {
	if strings.HasPrefix(method, "/grpc.") || c.leads() {
		return nil
	}
	led := c.term.Load() != nil
	if led && !store.IsShared(c.cfg.Store) { // a shared one does not fail, and may not answer
		if failed := c.storage.failure(ctx); failed != nil {
			return wire.Status(failed)
		}
	}
	refusal := fault.New(fault.Unavailable, wire.NotLeader,
		"this coordinator is not the leader; try another one, or try again later")
	if leader := c.leader.Load(); !led && leader != nil && *leader != "" {
		refusal = fault.New(fault.Unavailable, wire.NotLeader, "this coordinator is a standby; the leader is %s",
			*leader).With(wire.LeaderKey, *leader)
	}
	return wire.Status(refusal)
}

func (c *Coordinator) leaderOnlyUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	if err := c.notLeading(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	response, err := handler(ctx, request)
	if gate.OnlyReads(info.FullMethod) {
		// If this process was suspended during the call, another one may have led, and what was read may be outdated.
		// Changes need no second look: the store refuses those of a former leader.
		if err := c.notLeading(ctx, info.FullMethod); err != nil {
			return nil, err
		}
	}
	return response, err
}

func (c *Coordinator) leaderOnlyStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	if err := c.notLeading(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(server, stream)
}

// history is what coordinators of one process that follow each other pass on.
type history struct {
	again    bool    // one took part in the election, so the next waits for a store that is unavailable
	restored bool    // the backup to restore is restored
	terms    []int64 // in which one led, all of which but the current one ended without a crash
}

// Run serves as a coordinator until ctx ends. With a shared store it becomes a standby again after each term as the
// leader, and reopens everything so that nothing of the old term is left. It calls listening with each coordinator
// before serving it; all have the same address.
func Run(ctx context.Context, cfg Config, listening func(*Coordinator)) error {
	c, err := New(ctx, cfg)
	if err != nil {
		return err
	}
	cfg.Listen = c.Addr().String()
	cfg.Listener = nil
	log := c.log
	for {
		listening(c)
		err := c.Serve(ctx)
		if !store.IsShared(cfg.Store) || ctx.Err() != nil || !endsTerm(err) {
			return err
		}
		log.Warn("becoming a standby", "why", err)
		past := c.past
		past.again = true
		for pause := dial.NewBackoff(records.StoreRetries); ; {
			if c, err = newAfter(ctx, cfg, past); err == nil {
				break
			}
			if ctx.Err() != nil {
				return nil
			}
			log.Warn("cannot become a standby yet, trying again", "error", err)
			if pause.Wait(ctx) != nil {
				return nil
			}
		}
	}
}

// endsTerm reports whether err only means that this coordinator cannot lead at the moment.
func endsTerm(err error) bool {
	return errors.Is(err, errDeposed) || jobs.Interrupted(err) || store.AnswerOf(err) == store.Unanswered
}
