package clustertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// etcdVariable tells a process of the test program to be a member of an etcd cluster.
const etcdVariable = "CLEAVE_TEST_ETCD"

// Etcd is a cluster of etcd, each member a process of its own.
type Etcd struct {
	Members []*EtcdMember
}

// EtcdMember is a process of etcd.
type EtcdMember struct {
	*Process
	settings etcdSettings
}

// etcdSettings are passed to the process of a member.
type etcdSettings struct {
	Name, Dir, Client, Peer, Cluster string
	TLS                              string // a folder with certificates; empty: there is no encryption
}

// StartEtcd starts an etcd cluster.
func StartEtcd(t testing.TB, members int) *Etcd {
	t.Helper()
	return startEtcd(t, members, "")
}

// StartSecureEtcd starts an etcd cluster that asks for certificates.
func StartSecureEtcd(t testing.TB, members int, f SecureFolder) *Etcd {
	t.Helper()
	return startEtcd(t, members, f.Path("etcd", "member"))
}

func startEtcd(t testing.TB, members int, tls string) *Etcd {
	t.Helper()
	settings, peers := make([]etcdSettings, members), make([]string, members)
	for i := range settings {
		name := fmt.Sprintf("etcd%d", i)
		settings[i] = etcdSettings{Name: name, Dir: filepath.Join(t.TempDir(), name), Client: FreeAddress(t), Peer: FreeAddress(t), TLS: tls}
		peer := settings[i].url(settings[i].Peer)
		peers[i] = name + "=" + peer.String()
	}
	e := &Etcd{}
	for _, s := range settings {
		s.Cluster = strings.Join(peers, ",")
		m := &EtcdMember{settings: s}
		m.launch(t)
		e.Members = append(e.Members, m)
	}
	for _, m := range e.Members {
		m.awaitReady()
	}
	return e
}

// Store returns the cluster as a coordinator's --store.
func (e *Etcd) Store() string {
	clients := make([]string, len(e.Members))
	for i, m := range e.Members {
		clients[i] = m.settings.Client
	}
	return "etcd://" + strings.Join(clients, ",")
}

// Restart starts a member again that has ended.
func (m *EtcdMember) Restart() {
	m.launch(m.t)
	m.awaitReady()
}

func (m *EtcdMember) launch(t testing.TB) {
	t.Helper()
	encoded, err := json.Marshal(m.settings)
	must(t, encoded, err)
	m.Process = newProcess(t, m.settings.Name, os.Args[0])
	m.cmd.Env = append(m.cmd.Env, etcdVariable+"="+string(encoded))
	m.start()
}

func (m *EtcdMember) awaitReady() {
	m.t.Helper()
	Eventually(m.t, m.settings.Name+" is ready", func() (bool, string) {
		if !m.Running() {
			m.t.Fatal(m.settings.Name + " ended while starting")
		}
		return strings.Contains(string(m.stdout.bytes()), "ready"), "it has not said so"
	})
}

func (s etcdSettings) url(address string) url.URL {
	if s.TLS != "" {
		return url.URL{Scheme: "https", Host: address}
	}
	return url.URL{Scheme: "http", Host: address}
}

// runEtcd serves as a member of an etcd cluster until the process is killed.
func runEtcd(encoded string) int {
	var s etcdSettings
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster, cfg.LogLevel = s.Name, s.Dir, s.Cluster, "error"
	client, peer := s.url(s.Client), s.url(s.Peer)
	if s.TLS != "" {
		files := transport.TLSInfo{
			CertFile: filepath.Join(s.TLS, credentials.CertFile), KeyFile: filepath.Join(s.TLS, credentials.KeyFile),
			TrustedCAFile: filepath.Join(s.TLS, credentials.CAFile), ClientCertAuth: true,
		}
		cfg.ClientTLSInfo, cfg.PeerTLSInfo = files, files
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.TickMs, cfg.ElectionMs = 50, 500 // half of the defaults, so that a lease can be a second
	cfg.MaxTxnOps = 1024
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-server.Server.ReadyNotify()
	fmt.Println("ready")
	<-server.Server.StopNotify()
	return 1
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
