package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-project/cleave/internal/cli/client"
)

// Coordinators are coordinators that share an etcd and blobs. One of them leads. The embedded Client follows it.
type Coordinators struct {
	Client
	Etcd *Etcd
	All  []*Coordinator
	t    testing.TB
}

// testLease is how long the leader may be silent. A busy machine needs more than a second.
const testLease = "3s"

// StartCoordinators starts an etcd and coordinators on it. Their blobs are in a directory, unless the options
// name another place.
func StartCoordinators(t testing.TB, count int, o Options) *Coordinators {
	t.Helper()
	return startCoordinators(t, count, StartEtcd(t, cmp.Or(o.Members, 3)), o)
}

// StartSecureCoordinators is StartCoordinators with certificates for everything. The test itself is an admin.
func StartSecureCoordinators(t testing.TB, count int, f SecureFolder) *Coordinators {
	t.Helper()
	f.Cleave("certs", "etcd", "--host", "localhost", "--dir", f.Dir)
	return startCoordinators(t, count, StartSecureEtcd(t, 3, f), Options{
		Args: []string{"--tls", f.Path("coordinator"), "--store-tls", f.Path("etcd", "client")}, Dial: f.Dial("admin"),
	})
}

func startCoordinators(t testing.TB, count int, etcd *Etcd, o Options) *Coordinators {
	t.Helper()
	c := &Coordinators{Etcd: etcd, t: t}
	o.Args = append([]string{"--store", c.Etcd.Store(), "--lease", testLease, "--blobs", t.TempDir()}, o.Args...)
	for range count {
		one := StartCoordinator(t, o)
		c.All = append(c.All, one)
		if len(c.All) == 1 {
			c.Leader() // so that the first is the leader
		}
	}
	connected, err := client.Connect(c.Addresses(), o.Dial)
	must(t, connected, err)
	t.Cleanup(connected.Close)
	c.Client = Client{t: t, Datasets: connected.Datasets, Tables: connected.Tables, Jobs: connected.Jobs,
		Cluster: connected.Cluster}
	return c
}

// Addresses returns the addresses of all coordinators, as workers and clients take them.
func (c *Coordinators) Addresses() string {
	addresses := make([]string, len(c.All))
	for i, one := range c.All {
		addresses[i] = one.Addr
	}
	return strings.Join(addresses, ",")
}

// StartWorkers starts workers that follow the leader, and waits until all are attached.
func (c *Coordinators) StartWorkers(count int, args ...string) []*Worker {
	c.t.Helper()
	workers := make([]*Worker, count)
	for i := range workers {
		workers[i] = startWorker(c.t, c.Addresses(), fmt.Sprintf("w%d", i), "1GiB", args...)
	}
	c.AwaitWorkers(count)
	return workers
}

// Leader waits until one of the given coordinators leads, all if none is given.
func (c *Coordinators) Leader(among ...*Coordinator) *Coordinator {
	c.t.Helper()
	if len(among) == 0 {
		among = c.All
	}
	var leader *Coordinator
	Eventually(c.t, "one coordinator leads", func() (bool, string) {
		for _, one := range among {
			if one.Running() && one.Serves() {
				leader = one
				return true, ""
			}
		}
		return false, "none serves"
	})
	return leader
}

// Others returns all coordinators but one.
func (c *Coordinators) Others(than *Coordinator) []*Coordinator {
	var others []*Coordinator
	for _, one := range c.All {
		if one != than {
			others = append(others, one)
		}
	}
	return others
}

// Serves reports whether the health of the coordinator is SERVING.
func (c *Coordinator) Serves() bool {
	ctx, cancel := context.WithTimeout(c.Process.t.Context(), time.Second)
	defer cancel()
	answer, err := healthv1.NewHealthClient(c.Conn).Check(ctx, &healthv1.HealthCheckRequest{})
	return err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_SERVING
}
