// Package etcdtest starts etcd for tests, each member as a process of its own. Only tests import it.
package etcdtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/test/programs"
)

// Program builds etcd from the module tools/etcd, once per test process, and returns its path.
var Program = sync.OnceValues(func() (string, error) {
	folder, err := programs.BuildTool("etcd", "go.etcd.io/etcd/server/v3")
	return filepath.Join(folder, "server"), err
})

// Ready is what a member logs when it serves.
var Ready = []byte("ready to serve client requests")

// Member describes a member of a cluster.
type Member struct {
	Name, Dir    string
	Client, Peer string // addresses, HOST:PORT
	TLS          string // a folder with certificates; empty: there is no encryption
}

// ClientURL returns where clients reach the member.
func (m Member) ClientURL() string { return m.scheme() + m.Client }

// PeerURL returns where other members reach the member.
func (m Member) PeerURL() string { return m.scheme() + m.Peer }

func (m Member) scheme() string {
	if m.TLS == "" {
		return "http://"
	}
	return "https://"
}

// Args returns the arguments of the program for one member of a cluster.
func (m Member) Args(cluster []Member) []string {
	args := []string{
		"--name=" + m.Name, "--data-dir=" + m.Dir,
		"--listen-client-urls=" + m.ClientURL(), "--advertise-client-urls=" + m.ClientURL(),
		"--listen-peer-urls=" + m.PeerURL(), "--initial-advertise-peer-urls=" + m.PeerURL(),
		"--log-outputs=stderr",
		"--heartbeat-interval=50", "--election-timeout=500", // half of the defaults, so that a lease can be a second
	}
	peers := "--initial-cluster="
	for at, other := range cluster {
		if at > 0 {
			peers += ","
		}
		peers += other.Name + "=" + other.PeerURL()
	}
	args = append(args, peers)
	if m.TLS == "" {
		return args
	}
	for _, side := range []string{"", "peer-"} {
		args = append(args,
			"--"+side+"cert-file="+filepath.Join(m.TLS, credentials.CertFile),
			"--"+side+"key-file="+filepath.Join(m.TLS, credentials.KeyFile),
			"--"+side+"trusted-ca-file="+filepath.Join(m.TLS, credentials.CAFile),
			"--"+side+"client-cert-auth")
	}
	return args
}

// startTimeout is how long a member may take to start. A test that passes never waits for it.
const startTimeout = 90 * time.Second

// Start starts an etcd of one member with its default limits, which is killed when the test ends, and returns its
// address.
func Start(t testing.TB, args ...string) (address string) {
	t.Helper()
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	m := Member{Name: "one", Dir: filepath.Join(t.TempDir(), "etcd"), Client: FreeAddress(t), Peer: FreeAddress(t)}
	said := &output{ready: make(chan struct{})}
	process := exec.Command(program, append(m.Args([]Member{m}), args...)...)
	process.Stderr = said
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = process.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
	})
	select {
	case <-said.ready:
	case <-ended:
		t.Fatalf("etcd ended while starting:\n%s", said.text.String())
	case <-time.After(startTimeout):
		t.Fatal("etcd does not get ready")
	}
	return m.Client
}

// output notices that a member is ready.
type output struct {
	text  bytes.Buffer
	once  sync.Once
	ready chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.text.Write(p)
	if bytes.Contains(o.text.Bytes(), Ready) {
		o.once.Do(func() { close(o.ready) })
	}
	return len(p), nil
}

// FreeAddress returns an address of this machine that nobody listens on. Its port is outside the range from which the
// system picks ports of outgoing connections, so that none of them takes it before the caller does.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
