package clustertest

import (
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"

	"google.golang.org/protobuf/proto"
)

// TestTheLeaderOfASecureClusterIsKilled: with certificates everywhere, between coordinators and etcd too, another one
// goes on with a job, and the bits are those of a cluster without encryption.
func TestTheLeaderOfASecureClusterIsKilled(t *testing.T) {
	testscale.LongOnly(t, "TestTheLeaderIsKilled has the fault")
	t.Parallel()
	f := NewSecureFolder(t)
	c := StartSecureCoordinators(t, 2, f)
	c.StartWorkers(2, "--tls", f.Path("worker"))
	load := longPoints()
	first := c.Leader()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	w := c.Watch(c.Create(spec))
	w.Resumes = true
	w.UntilIterations(5)
	w.StillRunning()
	first.Kill()
	next := c.Leader(c.Others(first)...)
	load.finish(t, "with the leader killed", w)
	if adopted := strings.Count(next.Stderr(), "adopted tiles"); adopted != 2 {
		t.Errorf("the tiles of %d of 2 workers were adopted", adopted)
	}
}

// TestConnectionsToEtcdAreEncrypted: an etcd on another machine needs certificates, and what is wrong with them is
// said.
func TestConnectionsToEtcdAreEncrypted(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	others := NewSecureFolder(t)
	for _, each := range []SecureFolder{f, others} {
		each.Cleave("certs", "etcd", "--host", "localhost", "--dir", each.Dir)
	}
	store := StartSecureEtcd(t, 1, f).Store()
	client := f.Path("etcd", "client")
	for _, r := range []struct {
		what, store string
		args        []string
		says        string
	}{
		{"another machine", "etcd://127.0.0.1:1,192.0.2.1:2379", nil,
			"192.0.2.1:2379 is another machine, and there are no certificates to encrypt the connection with; give " +
				"--store-tls DIR"},
		{"another machine, while clients are served with encryption", "etcd://192.0.2.1:2379",
			[]string{"--tls", f.Path("coordinator")}, "or --store-insecure"},
		{"another machine, as the user says", "etcd://192.0.2.1:2379", []string{"--insecure"}, "no etcd answers"},
		{"certificates for nothing", "embedded", []string{"--store-tls", client},
			"give an etcd cluster too (--store etcd://HOST:PORT)"},
		{"both", store, []string{"--store-tls", client, "--store-insecure"},
			"--store-insecure and certificates contradict each other"},
		{"no encryption", store, nil, "give --store-tls DIR"},
		{"no certificate", store, []string{"--store-tls-ca", f.Path("etcd", "ca", "ca.pem")}, "certificate"},
		{"a certificate of a worker", store, []string{"--store-tls", f.Path("worker"), "--store-tls-ca",
			f.Path("etcd", "ca", "ca.pem")}, "certificate"},
		{"another etcd", store, []string{"--store-tls", others.Path("etcd", "client")},
			"etcd's certificate is not signed by an authority that we trust; is --store-tls-ca"},
		{"another name", store, []string{"--store-tls", client, "--store-tls-server-name", "elsewhere"},
			"and not for elsewhere"},
	} {
		t.Run(r.what, func(t *testing.T) {
			t.Parallel()
			p := start(t, "coordinator", Build(t).Coordinator,
				append([]string{"--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--store", r.store},
					r.args...)...)
			if code := p.ExitCode(); code == 0 || !strings.Contains(p.Stderr(), r.says) {
				t.Errorf("exit code %d and %q, want %q", code, p.Stderr(), r.says)
			}
		})
	}
}
