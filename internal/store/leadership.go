package store

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/cleave-project/cleave/internal/fault"
)

const (
	externalLease = 5 // seconds; a leader that falls silent is replaced after about this long
	// embeddedLease never runs out in practice. The directory's lock already keeps everybody else
	// out, so a leader that stood still for a while (a paused machine, a long swap) may go on.
	embeddedLease = 24 * 60 * 60
	revokeTimeout = 2 * time.Second // best effort: an unrevoked lease runs out by itself
)

// etcdTerm is a Leadership: a key of ours in the election, kept alive by a lease. The key's
// create revision is unique for all time, so comparing it fences every write of the term.
type etcdTerm struct {
	state    *etcdState
	lease    clientv3.LeaseID
	key      string
	revision int64
	end      context.CancelFunc // stops keeping the lease alive, which ends the session
	lost     chan struct{}
}

func (t *etcdTerm) Revision() int64       { return t.revision }
func (t *etcdTerm) Lost() <-chan struct{} { return t.lost }

// fence is the condition that this term is still on.
func (t *etcdTerm) fence() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.key), "=", t.revision)
}

// Resign first stops this process from writing, then lets the others know.
func (t *etcdTerm) Resign(ctx context.Context) error {
	t.end()
	<-t.lost
	ctx, done, err := t.state.begin(ctx)
	if errors.Is(err, ErrClosed) {
		return nil // closing resigned already
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
	if err := s.startCampaign(); err != nil {
		return nil, err
	}
	defer s.endCampaign()
	for {
		term, err := s.campaign(ctx, name)
		switch {
		case err == nil:
			return term, nil
		case errors.Is(err, errLeaseEnded):
			s.log.Warn("lost the lease while waiting to lead, trying again")
		case s.ctx.Err() != nil:
			return nil, ErrClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			return nil, fault.Wrap(s.explain(err), "leader election")
		}
	}
}

func (s *etcdState) startCampaign() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.campaigning || s.term != nil {
		return errAlreadyLeading
	}
	s.campaigning = true
	return nil
}

func (s *etcdState) endCampaign() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigning = false
}

var errLeaseEnded = errors.New("the lease ended")

// campaign stands for election once, under a lease of its own.
func (s *etcdState) campaign(ctx context.Context, name string) (_ *etcdTerm, err error) {
	// The lease is granted under the caller's context, but kept alive until the term ends.
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

	// A candidate whose lease ran out is no longer in the queue and must not go on waiting in it.
	standing, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(session.Ctx(), stop)()
	election := concurrency.NewElection(session, electionRoot)
	if err := election.Campaign(standing, name); err != nil {
		if ctx.Err() == nil && session.Ctx().Err() != nil {
			return nil, errLeaseEnded
		}
		return nil, err
	}

	term := &etcdTerm{state: s, lease: grant.ID, key: election.Key(), revision: election.Rev(),
		end: end, lost: make(chan struct{})}
	s.mu.Lock()
	s.term = term
	s.mu.Unlock()
	s.calls.Go(func() { s.watchTerm(term, session) })
	return term, nil
}

// watchTerm waits for the end of the session, whatever ends it: the lease expired or was
// revoked, a commit found itself fenced off, a resignation, or the closing of the state.
func (s *etcdState) watchTerm(term *etcdTerm, session *concurrency.Session) {
	<-session.Done()
	term.end()
	s.mu.Lock()
	s.term = nil
	s.mu.Unlock()
	close(term.lost)
	if s.ctx.Err() != nil { // closing resigns
		_ = s.revoke(context.Background(), term.lease)
	}
}

// revoke gives a lease back, and with it the election key.
func (s *etcdState) revoke(ctx context.Context, lease clientv3.LeaseID) error {
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	_, err := s.client.Revoke(ctx, lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	if err != nil {
		s.log.Warn("cannot give up the leader's lease, it will run out", "seconds", s.lease, "error", err)
	}
	return err
}
