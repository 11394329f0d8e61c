package clustertest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/etcdtest"
)

// Etcd is a cluster of etcd, each member a process of its own.
type Etcd struct {
	Members []*EtcdMember
}

// EtcdMember is a process of etcd.
type EtcdMember struct {
	*Process
	member  etcdtest.Member
	cluster []etcdtest.Member
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
	cluster := make([]etcdtest.Member, members)
	for i := range cluster {
		name := fmt.Sprintf("etcd%d", i)
		cluster[i] = etcdtest.Member{
			Name: name, Dir: filepath.Join(t.TempDir(), name), Client: FreeAddress(t), Peer: FreeAddress(t), TLS: tls,
		}
	}
	e := &Etcd{}
	for _, one := range cluster {
		m := &EtcdMember{member: one, cluster: cluster}
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
		clients[i] = m.member.Client
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
	program, err := etcdtest.Program()
	must(t, program, err)
	m.Process = start(t, m.member.Name, program, append(m.member.Args(m.cluster), "--max-txn-ops=1024")...)
}

func (m *EtcdMember) awaitReady() {
	m.t.Helper()
	Eventually(m.t, m.member.Name+" is ready", func() (bool, string) {
		if !m.Running() {
			m.t.Fatal(m.member.Name + " ended while starting")
		}
		return bytes.Contains(m.stderr.bytes(), etcdtest.Ready), "it has not said so"
	})
}

// FreeAddress returns an address of this machine that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return etcdtest.FreeAddress(t)
}
