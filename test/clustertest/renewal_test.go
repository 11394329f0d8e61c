package clustertest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// TestAWorkersCertificateIsRenewed: `cleave workers` and the logs say that the certificate of a worker expires soon.
// The worker takes the renewed one by itself: other workers see it, and the coordinator no longer complains.
func TestAWorkersCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	old := certs.Folder{Dir: f.Dir, Now: func() time.Time { return time.Now().Add(-23 * time.Hour) }}
	if _, err := old.Issue("worker", certs.Party{Caller: &identity.Caller{Name: "worker", Role: identity.Worker},
		Life: 24 * time.Hour, Renew: true}); err != nil {
		t.Fatal(err)
	}
	c, _ := StartSecureCluster(t, f, 0)
	peers := FreeAddress(t)
	w := startWorker(t, c.Addr, "w", "1GiB", "--tls", f.Path("worker"), "--cache-dir", t.TempDir(),
		"--peer-listen", peers)
	c.AwaitWorkers(1)
	status := func() string {
		return f.Cleave("workers", "--server", c.Addr, "--tls", f.Path("admin"))
	}
	Eventually(t, "the coordinator knows that the certificate expires", func() (bool, string) {
		said := c.Workers()[0].String()
		return strings.Contains(said, "certificate"), said
	})
	if said := status(); !strings.Contains(said, "its certificate expires at") ||
		!strings.Contains(said, "cleave certs") {
		t.Errorf("cleave workers says %s", said)
	}
	for log, says := range map[string]string{w.Stderr(): f.Path("worker", "cert.pem") + " expires at",
		c.Stderr(): "a worker reports"} {
		if !strings.Contains(log, says) {
			t.Errorf("a log does not say %q", says)
		}
	}
	shown := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", peers, &tls.Config{InsecureSkipVerify: true,
			NextProtos: []string{"h2"}}) //nolint:gosec // which one it is, is the question
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	before := shown()
	f.Cleave("certs", "worker", "--renew", "--dir", f.Dir)
	Eventually(t, "the worker shows its new certificate to others", func() (bool, string) {
		return !shown().Equal(before), fmt.Sprint(before.NotAfter)
	})
	Eventually(t, "the coordinator complains no longer", func() (bool, string) {
		said := c.Workers()[0].String()
		return !strings.Contains(said, "certificate"), said
	})
	if said := status(); strings.Contains(said, "certificate") {
		t.Errorf("cleave workers says %s", said)
	}
	c.Kill()
	c.Restart()
	c.AwaitWorkers(1) // attaches with the new one
	if !w.Running() {
		t.Error("the worker ended")
	}
}
