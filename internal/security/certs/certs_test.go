package certs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
)

var now = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

func load(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, credentials.CertFile), filepath.Join(dir, credentials.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, credentials.KeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the key is %v, %v", info.Mode(), err)
	}
	return pair.Leaf
}

func TestCertificates(t *testing.T) {
	f := Folder{Dir: filepath.Join(t.TempDir(), "certs"), Now: func() time.Time { return now }}
	server := Party{Hosts: []string{"host", "::1"}, Life: time.Hour}
	worker := Party{Caller: &identity.Caller{Name: "w", Role: identity.Worker}, Life: 2 * authorityLife}
	if _, err := f.Issue("coordinator", server); !fault.Is(err, "NO_AUTHORITY") {
		t.Errorf("without an authority: %v", err)
	}
	if err := f.Init(); err != nil {
		t.Fatal(err)
	}
	if err := f.Init(); !fault.Is(err, "WOULD_OVERWRITE") {
		t.Errorf("a second authority: %v", err)
	}
	issue := func(name string, p Party) *x509.Certificate {
		t.Helper()
		until, err := f.Issue(name, p)
		if err != nil {
			t.Fatal(err)
		}
		issued := load(t, filepath.Join(f.Dir, name))
		if !until.Equal(issued.NotAfter) {
			t.Errorf("%s is said to be valid until %v, and is until %v", name, until, issued.NotAfter)
		}
		return issued
	}
	coordinator := issue("coordinator", server)
	w := issue("worker", worker)
	member := issue("member", Party{Etcd: true, Hosts: []string{"host"}, Life: time.Hour})
	etcdClient := issue("client", Party{Etcd: true, Life: time.Hour})
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(f.Dir, "worker", credentials.CAFile))
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("the folder of a worker has no authority: %v", err)
	}
	verify := func(c *x509.Certificate, host string, usage x509.ExtKeyUsage, at time.Time) bool {
		_, err := c.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage},
			CurrentTime: at})
		return err == nil
	}
	for _, c := range []struct {
		what string
		got  bool
		want bool
	}{
		{"a coordinator by its name", verify(coordinator, "host", x509.ExtKeyUsageServerAuth, now), true},
		{"a coordinator by its address", verify(coordinator, "::1", x509.ExtKeyUsageServerAuth, now), true},
		{"a coordinator by another name", verify(coordinator, "other", x509.ExtKeyUsageServerAuth, now), false},
		{"a coordinator after its time", verify(coordinator, "host", x509.ExtKeyUsageServerAuth, now.Add(2*time.Hour)),
			false},
		{"a coordinator as a client", verify(coordinator, "", x509.ExtKeyUsageClientAuth, now), false},
		{"a worker", verify(w, "", x509.ExtKeyUsageClientAuth, now), true},
		{"a worker as a coordinator", verify(w, "", x509.ExtKeyUsageServerAuth, now), false},
		{"a member of etcd", verify(member, "host", x509.ExtKeyUsageServerAuth, now), true},
		{"a member of etcd that calls another", verify(member, "", x509.ExtKeyUsageClientAuth, now), true},
		{"a client of etcd", verify(etcdClient, "", x509.ExtKeyUsageClientAuth, now), true},
		{"a client of etcd as a member", verify(etcdClient, "", x509.ExtKeyUsageServerAuth, now), false},
		{"a worker with the authority", w.NotAfter.After(now.Add(authorityLife)), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", c.what, c.got)
		}
	}
	if len(w.URIs) != 1 || w.URIs[0].String() != "cleave://worker/w" {
		t.Errorf("the worker is %v", w.URIs)
	}

	if _, err := f.Issue("worker", worker); !fault.Is(err, "WOULD_OVERWRITE") {
		t.Errorf("a second certificate: %v", err)
	}
	worker.Renew = true
	if again := issue("worker", worker); again.SerialNumber.Cmp(w.SerialNumber) == 0 {
		t.Error("the certificate is the old one")
	}
	for _, bad := range []string{"ca", "../up", "", "/abs"} {
		if _, err := f.Issue(bad, worker); err == nil {
			t.Errorf("%q is a folder", bad)
		}
	}
}

// An authority that has expired issues nothing: the certificates would not be valid.
func TestAnExpiredAuthorityIssuesNothing(t *testing.T) {
	f := Folder{Dir: t.TempDir(), Now: func() time.Time { return now }}
	if err := f.Init(); err != nil {
		t.Fatal(err)
	}
	f.Now = func() time.Time { return now.Add(authorityLife) }
	if _, err := f.Issue("client", Party{Etcd: true, Life: time.Hour}); !fault.Is(err, "AUTHORITY_EXPIRED") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(f.Dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left (%v)", left, err)
	}
}
