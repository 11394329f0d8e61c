package clustertest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// TestASecureClusterRenewsItsCertificates: the bits are those of a cluster without encryption. While a job runs, the
// certificate of the coordinator is damaged, which changes nothing, then replaced, and workers with new ones join. One
// of the workers stands still meanwhile, so that the job does not end.
func TestASecureClusterRenewsItsCertificates(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	c, workers := StartSecureCluster(t, f, 2, "--audit-log", f.Path("audit"), "--lost-after", "1h",
		"--slow-after", "1h")
	_, watch := longPoints().run(c)
	watch.UntilIterations(3)
	workers[0].Pause()

	shown := func() *x509.Certificate {
		t.Helper()
		conn, err := tls.Dial("tcp", c.Addr, &tls.Config{InsecureSkipVerify: true,
			NextProtos: []string{"h2"}}) //nolint:gosec // which one it is, is the question
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	before := shown()
	cert := f.Path("coordinator", "cert.pem")
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the coordinator keeps its certificate", func() (bool, string) {
		if !shown().Equal(before) {
			t.Fatal("the coordinator shows another certificate")
		}
		return strings.Contains(c.Stderr(), "keeping the previous one"), "its log does not say so"
	})
	f.Cleave("certs", "coordinator", "--renew", "--dir", f.Dir, "--host", "localhost")
	f.Cleave("certs", "worker", "--renew", "--dir", f.Dir)
	Eventually(t, "the coordinator has its new certificate", func() (bool, string) {
		return !shown().Equal(before), "it shows the old one"
	})
	watch.StillRunning()
	startWorker(t, c.Addr, "late", "1GiB", "--tls", f.Path("worker"))
	workers[0].Resume()
	c.AwaitWorkers(3)
	longPoints().finish(t, "with certificates", watch)
}

// TestSecureRefusals: whoever should not get in does not, and is told what to do.
func TestSecureRefusals(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	others := NewSecureFolder(t)
	expired := certs.Folder{Dir: f.Dir, Now: func() time.Time { return time.Now().AddDate(0, 0, -2) }}
	if _, err := expired.Issue("late", certs.Party{Caller: &identity.Caller{Name: "late", Role: identity.Admin},
		Life: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	c, _ := StartSecureCluster(t, f, 0)
	ca := f.Path("ca", "ca.pem")
	foreign := others.Path("admin")
	list := []string{"list", "--server", c.Addr}[:3:3]
	for _, r := range []struct {
		what string
		args []string
		code int
		says string
	}{
		{"an admin", append(list, "--tls", f.Path("admin")), 0, ""},
		{"no credentials", append(list, "--tls-ca", ca), 2, "requires authentication; log in with: cleave login"},
		{"no encryption", list, 1, "it probably wants TLS"},
		{"another authority", append(list, "--tls", foreign), 1, "is not signed by an authority that we trust"},
		{"a certificate of another authority", append(list, "--tls-ca", ca, "--tls-cert", foreign+"/cert.pem",
			"--tls-key", foreign+"/key.pem"), 1, "the coordinator refuses our certificate"},
		{"an expired certificate", append(list, "--tls", f.Path("late")), 2, "it expired at"},
		{"a worker", append(list, "--tls", f.Path("worker")), 2,
			"worker has the role worker, but this call needs the role reader"},
		{"another name", append(list, "--tls", f.Path("admin"), "--tls-server-name", "elsewhere"), 1,
			"and not for elsewhere"},
		{"another machine without encryption", []string{"list", "--server", "192.0.2.1:7400"}, 2, "--insecure"},
		{"a context that is not there", append(list, "--context", "none"), 2, `there is no login "none"`},
	} {
		t.Run(r.what, func(t *testing.T) {
			t.Parallel()
			if ran := Cleave(t, r.args...); ran.ExitCode != r.code || !strings.Contains(ran.Stderr, r.says) {
				t.Errorf("exit code %d and %q, want %d and %q", ran.ExitCode, ran.Stderr, r.code, r.says)
			}
		})
	}
}

// TestOwnersAndWorkersOfASecureCluster: jobs and data of others are not there, and a certificate is good for one side
// only.
func TestOwnersAndWorkersOfASecureCluster(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	others := NewSecureFolder(t)
	alice := f.Token("alice", "submitter")
	bob := f.Token("bob", "submitter")
	c, _ := StartSecureCluster(t, f, 1, "--token-file", f.Path("tokens"))
	as := func(token string) Client { return c.As(f.WithToken(token)) }
	owner := as(alice)
	stranger := as(bob)
	spec := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2}, Algorithm: kernelKmeans(&cleavev1.KernelKmeans{}),
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: owner.Upload(gaussians(50, 2, 2, 1))}}
	job := owner.Create(spec)
	_, err := stranger.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
	wantError(t, "another's job", err, codes.NotFound, "JOB_NOT_FOUND")
	_, err = stranger.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec})
	wantError(t, "another's data", err, codes.NotFound, "DATASET_NOT_FOUND")
	_, err = owner.Cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "w"})
	wantError(t, "a submitter drains", err, codes.PermissionDenied, "ROLE_MISSING")

	asWorker := startWorker(t, c.Addr, "client", "1GiB", "--tls", f.Path("admin"))
	if code := asWorker.ExitCode(); code != 2 ||
		!strings.Contains(asWorker.Stderr(), "admin has the role admin, but this call needs the role worker") {
		t.Errorf("a client as a worker: exit code %d, %s", code, asWorker.Stderr())
	}
	strange := startWorker(t, c.Addr, "strange", "1GiB", "--tls", others.Path("worker"))
	Eventually(t, "a worker of others is told why", func() (bool, string) {
		return strings.Contains(strange.Stderr(), "is not signed by an authority that we trust"), strange.Stderr()
	})

	// A token that is withdrawn is refused at the next call.
	if err := os.WriteFile(f.Path("tokens"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the token is refused", func() (bool, string) {
		_, err := owner.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
		return err != nil && strings.Contains(err.Error(), "it may have been withdrawn"), "it is taken"
	})
}

// TestListeningElsewhereNeedsCertificates: what would let strangers in is refused before anything is opened.
func TestListeningElsewhereNeedsCertificates(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	dir := f.Path("data")
	onlyServer := []string{"--tls-cert", f.Path("coordinator", "cert.pem"), "--tls-key",
		f.Path("coordinator", "key.pem")}
	for _, r := range []struct {
		args []string
		says string
	}{
		{nil, "give --tls DIR (cleave certs init makes it), listen on 127.0.0.1, or give --insecure"},
		{onlyServer, "--anonymous to let everyone do everything"},
		{[]string{"--tls", f.Path("none")}, "there is no folder"},
		{[]string{"--insecure", "--token-file", f.Path("tokens")}, "no worker could attach"},
	} {
		ran := Command(t, Build(t).Coordinator, append([]string{"--listen", "0.0.0.0:0", "--data-dir", dir},
			r.args...)...)
		wantSentence(t, ran, 2, r.says)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
	wantSentence(t, Cleave(t, "serve", "--listen", "0.0.0.0:0"), 2, "use the program coordinator with certificates")
	wantSentence(t, Command(t, Build(t).Worker, "--coordinator", "192.0.2.1:7400"), 2,
		"--insecure to connect without encryption")
	c := StartCoordinator(t, Options{Listen: "0.0.0.0:0", Args: []string{"--insecure"}})
	startWorker(t, c.Addr, "w", "1GiB", "--insecure")
	c.AwaitWorkers(1)
}
