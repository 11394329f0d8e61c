package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/cleave-project/cleave/internal/fault"
)

const revokeTimeout = 2 * time.Second // best effort: a lease that is not revoked expires

// etcdTerm is a Leadership: a key in the election that a lease keeps alive. The key's create revision is never
// reused. Every write of the term requires that the key still has that revision, and the mark of etcd_fence.go.
type etcdTerm struct {
	state    *etcdState
	lease    clientv3.LeaseID
	key      string
	revision int64
	end      context.CancelFunc // stops renewing the lease, which ends the session
	lost     chan struct{}
	renewed  atomic.Pointer[time.Time]                    // when the lease was last known to be renewed
	ask      func(context.Context) (ttl int64, err error) // renews the lease; replaced by tests
	name     string
	mark     mark
}

func (t *etcdTerm) Revision() int64       { return t.revision }
func (t *etcdTerm) Lost() <-chan struct{} { return t.lost }

// Current compares clocks, because the lease may have expired while this process was suspended, before it noticed.
func (t *etcdTerm) Current() bool {
	if isClosed(t.lost) {
		return false
	}
	renewed := *t.renewed.Load()
	now := time.Now()
	return t.lasts(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0))) // Round removes the monotonic clock
}

// lasts reports whether the lease is certain to last, given the time since it was renewed by the monotonic clock, which
// stands still while a machine sleeps, and by the wall clock. It leaves a third of the lease for etcd answers that took
// long to arrive.
func (t *etcdTerm) lasts(monotonic, wall time.Duration) bool {
	return max(monotonic, wall) < t.duration()*2/3
}

// Resign first stops this process from writing, and then lets another process lead.
func (t *etcdTerm) Resign(ctx context.Context) error {
	t.end()
	<-t.lost
	ctx, done, err := t.state.begin(ctx)
	if errors.Is(err, ErrClosed) {
		return nil // Close has resigned
	}
	if err != nil {
		return err
	}
	defer done()
	return t.state.revoke(ctx, t.lease)
}

func (s *etcdState) currentTerm() *etcdTerm {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

func (s *etcdState) Lead(ctx context.Context, name string) (Leadership, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if s.campaigning.Swap(true) {
		return nil, errAlreadyLeading
	}
	defer s.campaigning.Store(false)
	if s.currentTerm() != nil {
		return nil, errAlreadyLeading
	}
	for {
		term, err := s.campaign(ctx, name)
		switch {
		case err == nil:
			return term, nil
		case errors.Is(err, errLeaseEnded):
			s.log.Warn("the lease expired while waiting to lead; trying again")
		case s.ctx.Err() != nil:
			return nil, ErrClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			return nil, fault.Wrap(s.explain(err), "leader election")
		}
	}
}

var errLeaseEnded = errors.New("the lease ended")

// campaign takes part in the election once, with a new lease.
func (s *etcdState) campaign(ctx context.Context, name string) (_ *etcdTerm, err error) {
	// The caller's context applies to the grant only. The lease is renewed until the term ends.
	grant, err := s.client.Grant(ctx, int64(s.lease))
	if err != nil {
		return nil, err
	}
	keep, end := context.WithCancel(s.ctx)
	defer func() {
		if err != nil {
			end()
			_ = s.revoke(context.WithoutCancel(ctx), grant.ID)
		}
	}()
	session, err := concurrency.NewSession(s.client, concurrency.WithLease(grant.ID),
		concurrency.WithTTL(s.lease), concurrency.WithContext(keep))
	if err != nil {
		return nil, err
	}

	// A candidate whose lease expired is no longer in the queue, so it must stop waiting.
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(session.Ctx(), stop)()
	election := concurrency.NewElection(session, electionRoot)
	if err := election.Campaign(waiting, name); err != nil {
		if ctx.Err() == nil && session.Ctx().Err() != nil {
			return nil, errLeaseEnded
		}
		return nil, err
	}

	term := &etcdTerm{state: s, name: name, lease: grant.ID, key: election.Key(), revision: election.Rev(),
		end: end, lost: make(chan struct{}), mark: mark{revision: election.Rev()}}
	term.ask = term.askOnce
	renewed := time.Now()
	if err := term.renew(keep); err != nil { // the session may have renewed it some time ago
		return nil, err
	}
	term.renewed.Store(&renewed)
	session.Orphan() // the term renews its lease itself
	s.mu.Lock()
	s.term = term
	s.mu.Unlock()
	s.calls.Go(func() { s.holdTerm(keep, term) })
	return term, nil
}

// Leader returns the name of the leader. The oldest key in the election belongs to the leader, and its value is the
// name.
func (s *etcdState) Leader(ctx context.Context) (string, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	resp, err := s.client.Get(ctx, electionRoot+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return "", s.explain(err)
	}
	if len(resp.Kvs) == 0 {
		return "", ErrNotFound
	}
	return string(resp.Kvs[0].Value), nil
}

// holdTerm renews the lease until that fails, and then ends the term. It fails if the lease expired or was revoked, a
// commit failed the fence, the leader resigned, or the state was closed.
func (s *etcdState) holdTerm(ctx context.Context, term *etcdTerm) {
	term.keepAlive(ctx)
	term.end()
	s.mu.Lock()
	s.term = nil
	s.mu.Unlock()
	close(term.lost)
	if s.ctx.Err() != nil { // Close resigns
		_ = s.revoke(context.Background(), term.lease)
	}
}

// revoke ends a lease, which deletes the election key.
func (s *etcdState) revoke(ctx context.Context, lease clientv3.LeaseID) error {
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	_, err := s.client.Revoke(ctx, lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	if err != nil {
		s.log.Warn("cannot revoke the leader's lease; it will expire", "seconds", s.lease, "error", err)
	}
	return err
}
