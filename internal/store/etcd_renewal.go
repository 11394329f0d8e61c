package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A leader renews its lease itself. etcd's client renews three times per lease, checks only twice a second whether it
// is time, and keeps waiting for a member that hangs. While the members elect a new leader, which takes one or two
// seconds, a lease of a few seconds would expire although nothing is wrong.
//
// A busy machine delays requests and answers, and this process. Renewals therefore do not wait for each other: one
// that is answered late still counts from when it was sent. If the lease is over by the clock of this process, the
// process may only be late, so the store is asked for a while longer. That is safe: the store rejects the writes of a
// term that is over, and Current reports false.
const (
	renewalsPerLease = 6
	renewalRetry     = 100 * time.Millisecond
)

func (t *etcdTerm) duration() time.Duration { return time.Duration(t.state.lease) * time.Second }

// keepAlive renews the lease until ctx ends, the store answers that the lease is gone, or the store answers nothing
// for half a lease after the lease may have expired.
func (t *etcdTerm) keepAlive(ctx context.Context) {
	type answer struct {
		sent time.Time
		err  error
	}
	answers := make(chan answer)
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer asking.Wait()
	defer cancel()
	pause := t.duration() / renewalsPerLease
	var late time.Time // when this process noticed that the lease may have expired; zero if it is certain to last
	for next := time.After(pause); ; {
		select {
		case <-ctx.Done():
			return
		case a := <-answers:
			switch {
			case errors.Is(a.err, errLeaseEnded):
				return
			case a.err != nil:
				next = time.After(min(pause, renewalRetry))
			case a.sent.After(*t.renewed.Load()):
				t.renewed.Store(&a.sent)
				late = time.Time{}
			}
		case <-next:
			if late.IsZero() && time.Since(*t.renewed.Load()) >= t.duration() {
				late = time.Now()
			} else if !late.IsZero() && time.Since(late) >= t.duration()/2 {
				return
			}
			sent := time.Now()
			asking.Go(func() {
				err := t.renew(ctx)
				select {
				case answers <- answer{sent, err}:
				case <-ctx.Done():
				}
			})
			next = time.After(pause)
		}
	}
}

// renew renews the lease once. If a member does not answer, the next attempt asks another one.
func (t *etcdTerm) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.duration())
	defer cancel()
	ttl, err := t.ask(ctx)
	if err == nil && ttl <= 0 {
		return errLeaseEnded
	}
	return err
}

// askOnce asks a member to renew the lease, and returns how many seconds it lasts from then on. The client's
// KeepAliveOnce would retry without a pause while no member can be reached.
func (t *etcdTerm) askOnce(ctx context.Context) (ttl int64, err error) {
	stream, err := etcdserverpb.NewLeaseClient(t.state.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return 0, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(t.lease)}); err != nil {
		return 0, err
	}
	answer, err := stream.Recv()
	return answer.GetTTL(), err
}
