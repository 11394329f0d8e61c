package store

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

const (
	whyTimeout       = time.Second
	keepaliveTime    = 10 * time.Second // detects a peer whose machine died
	keepaliveTimeout = 3 * time.Second
)

// openEtcd opens the state in an etcd cluster. Endpoints are HOST:PORT. If none of them answers within the timeout, it
// returns the fault STORE_UNREACHABLE.
func openEtcd(
	ctx context.Context, endpoints []string, sharing Sharing, log hclog.Logger, timeout time.Duration,
) (State, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if len(endpoints) == 0 {
		return nil, fault.Invalid("STORE_ENDPOINT_INVALID", "no etcd endpoint is given; use HOST:PORT")
	}
	for _, endpoint := range endpoints {
		// The part before it may be a password, so do not repeat it.
		if at := strings.LastIndexByte(endpoint, '@'); at >= 0 {
			return nil, fault.Invalid("STORE_ENDPOINT_INVALID", "the etcd endpoint %q contains a user name, "+
				"but Cleave authenticates to etcd with certificates only; use HOST:PORT, and --store-tls if etcd "+
				"requires client certificates", endpoint[at+1:])
		}
		host, port, err := net.SplitHostPort(endpoint)
		if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || host == "" {
			return nil, fault.Invalid("STORE_ENDPOINT_INVALID", "etcd endpoint %q is not of the form HOST:PORT",
				endpoint)
		}
	}
	transport, err := sharing.Dial.ToEtcd().Options(log, endpoints...)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		DialOptions:          transport,
		Endpoints:            endpoints,
		DialKeepAliveTime:    keepaliveTime,
		DialKeepAliveTimeout: keepaliveTimeout,
		// The client would write about every failed attempt to standard error. If all fail, the call returns an error.
		Logger: clientv3.NewCtxClient(ctx).GetLogger(), // which logs nothing
	})
	if err != nil {
		return nil, err
	}
	s := newEtcdState(client, log, max(1, int(sharing.Lease/time.Second)))
	s.txnTimeout = time.Duration(s.lease) * time.Second * 2 / 3
	if sharing.Unchecked {
		return s, nil
	}
	// The client connects on its first call. Read now to find out whether any endpoint answers.
	reach, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := client.Get(reach, entryRoot, clientv3.WithCountOnly()); err != nil {
		s.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.FailedPrecondition, Unreachable,
			"no etcd answers at %s within %v (%v); check the addresses and that etcd is running",
			strings.Join(endpoints, ","), timeout, whyUnreachable(ctx, endpoints[0], transport))
	}
	return s, nil
}

// whyUnreachable asks a member once more without etcd's client, which retries until the time is up and then reports
// only that.
func whyUnreachable(ctx context.Context, endpoint string, transport []grpc.DialOption) string {
	ctx, cancel := context.WithTimeout(ctx, whyTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+endpoint, transport...)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_, err = etcdserverpb.NewMaintenanceClient(conn).Status(ctx, &etcdserverpb.StatusRequest{})
	if err == nil {
		return endpoint + " answers, but not as a member of a cluster that works"
	}
	return credentials.ExplainEtcd(status.Convert(err).Message())
}
