package store

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A leader renews its lease itself. etcd's client renews three times per lease, checks only twice a second whether it
// is time, and keeps waiting for a member that hangs. While the members elect a new leader, which takes one or two
// seconds, a lease of a few seconds would expire although nothing is wrong.
const (
	renewalsPerLease = 6
	renewalRetry     = 100 * time.Millisecond
)

func (t *etcdTerm) duration() time.Duration { return time.Duration(t.state.lease) * time.Second }

// keepAlive renews the lease until ctx ends, the lease is gone, or it may have expired because no member answered in
// time.
func (t *etcdTerm) keepAlive(ctx context.Context) {
	pause := t.duration() / renewalsPerLease
	for wait := pause; ; {
		left := time.Until(t.renewed.Load().Add(t.duration()))
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(wait, left)):
		}
		if left <= wait {
			return
		}
		wait = pause
		if err := t.renew(ctx); errors.Is(err, errLeaseEnded) {
			return
		} else if err != nil {
			wait = min(pause, renewalRetry)
		}
	}
}

// renew renews the lease once. If this member does not answer, the next attempt asks another one.
func (t *etcdTerm) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.duration()/3)
	defer cancel()
	now := time.Now()
	ttl, err := t.askOnce(ctx)
	if err != nil {
		return err
	}
	if ttl <= 0 {
		return errLeaseEnded
	}
	t.renewed.Store(&now)
	return nil
}

// askOnce asks a member to renew the lease, and returns how many seconds it lasts from then on. The client's
// KeepAliveOnce would retry without a pause while no member can be reached.
func (t *etcdTerm) askOnce(ctx context.Context) (ttl int64, err error) {
	connection := t.state.client.ActiveConnection()
	if connection == nil { // etcd runs in this process
		answer, err := t.state.client.KeepAliveOnce(ctx, t.lease)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return answer.TTL, nil
	}
	stream, err := etcdserverpb.NewLeaseClient(connection).LeaseKeepAlive(ctx)
	if err != nil {
		return 0, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(t.lease)}); err != nil {
		return 0, err
	}
	answer, err := stream.Recv()
	return answer.GetTTL(), err
}
