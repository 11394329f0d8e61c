package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

func embedded(t *testing.T, dir string) State {
	t.Helper()
	s, err := Open(t.Context(), "embedded", dir, Sharing{Lease: DefaultLease}, nil)
	check(t, err)
	return s
}

func TestEmbeddedSurvivesReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	s := embedded(t, dir)
	term := lead(t, s)
	revision := commit(t, s, Txn{Put: []Entry{{Key: "jobs/1", Value: []byte("kept")}, {Key: "jobs/2"}}})
	commit(t, s, Txn{Delete: []string{"jobs/2"}})
	check(t, s.Close())

	s = embedded(t, dir)
	defer s.Close()
	if e := get(t, s, "jobs/1"); string(e.Value) != "kept" || e.Revision != revision {
		t.Fatalf("got %+v, want the value of revision %d", e, revision)
	}
	if got := keys(t, s, "", "", 0); len(got) != 1 {
		t.Fatalf("got the keys %q", got)
	}
	_, err := s.Commit(t.Context(), Txn{Delete: []string{"jobs/1"}})
	wantIs(t, err, ErrNotLeader)
	if next := lead(t, s); next.Revision() <= term.Revision() {
		t.Fatalf("term %d after term %d", next.Revision(), term.Revision())
	}
}

// childDirectory, set in the environment, makes this test binary a process that leads, commits, prints so
// and waits to be killed.
const childDirectory = "STORE_TEST_CHILD_DIRECTORY"

func TestEmbeddedSurvivesKill(t *testing.T) {
	if dir := os.Getenv(childDirectory); dir != "" {
		s := embedded(t, dir)
		lead(t, s)
		fmt.Println("committed", commit(t, s, Txn{Put: []Entry{{Key: "jobs/1", Value: []byte("kept")}}}))
		select {}
	}

	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), childDirectory+"="+dir)
	output, err := child.StdoutPipe()
	check(t, err)
	check(t, child.Start())
	defer func() { _ = child.Process.Kill() }()
	committed := false
	for lines := bufio.NewScanner(output); !committed && lines.Scan(); {
		committed = strings.HasPrefix(lines.Text(), "committed")
	}
	if !committed {
		t.Fatal("the child did not get to commit")
	}

	_, err = OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, "DATA_DIR_IN_USE")
	check(t, child.Process.Kill())
	_ = child.Wait() // it was killed

	s := embedded(t, dir)
	defer s.Close()
	get(t, s, "jobs/1")
	// The lease of the killed leader has not expired yet, but nobody has to wait for it.
	start := time.Now()
	lead(t, s)
	if took := time.Since(start); took > testLease*time.Second/2 {
		t.Errorf("leading after a crash took %v", took)
	}
	commit(t, s, Txn{Delete: []string{"jobs/1"}})
}

func TestEmbeddedHasOneOpener(t *testing.T) {
	dir := t.TempDir()
	s := embedded(t, dir)
	_, err := OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, "DATA_DIR_IN_USE")
	if want := "data directory " + dir + " is in use by another coordinator"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	check(t, s.Close())
	check(t, embedded(t, dir).Close())
}

func TestEmbeddedUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := OpenEmbedded(t.Context(), dir, nil)
		wantReason(t, err, "DATA_DIR_UNUSABLE")
	}
	_, err := OpenEmbedded(t.Context(), "", nil)
	wantReason(t, err, "DATA_DIR_MISSING")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = OpenEmbedded(ctx, t.TempDir(), nil)
	wantIs(t, err, context.Canceled)
}

func TestEmbeddedDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	check(t, embedded(t, dir).Close())
	logs, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*-*.wal"))
	check(t, err)
	for _, file := range append(logs, filepath.Join(dir, "etcd", "member", "snap", "db")) {
		sound, err := os.ReadFile(file)
		check(t, err)
		damaged := bytes.Clone(sound)
		for i := 0; i < len(damaged); i += 7 {
			damaged[i] ^= 0x55
		}
		check(t, os.WriteFile(file, damaged, 0o600))
		_, err = OpenEmbedded(t.Context(), dir, nil)
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "backup") {
			t.Errorf("damage to %s gives %v", file, err)
		}
		check(t, os.WriteFile(file, sound, 0o600))
	}
	check(t, embedded(t, dir).Close()) // the failures left no lock or server behind
}

func TestEmbeddedIsQuiet(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
	s, server, err := openEmbedded(t.Context(), t.TempDir(), log, func(cfg *embed.Config) {
		cfg.WarningApplyDuration, cfg.WarningUnaryRequestDuration = time.Hour, time.Hour // a busy machine may be slow
	})
	check(t, err)
	lead(t, s)
	if len(server.Clients)+len(server.Peers) != 0 {
		t.Errorf("listens at %v and %v", server.Clients, server.Peers)
	}
	check(t, s.Close())
	if out.Len() > 0 {
		t.Errorf("logged at level info:\n%s", &out)
	}
}

// TestEmbeddedFull: at the quota, writes fail with a reason; deleting and restarting helps.
func TestEmbeddedFull(t *testing.T) {
	dir := t.TempDir()
	s, _, err := openEmbedded(t.Context(), dir, nil, func(cfg *embed.Config) { cfg.QuotaBackendBytes = 4 << 20 })
	check(t, err)
	lead(t, s)
	value := make([]byte, 1<<20)
	written := 0
	for ; written < 16 && err == nil; written++ {
		_, err = s.Commit(t.Context(), Txn{Put: []Entry{{Key: fmt.Sprint("big/", written), Value: value}}})
	}
	wantReason(t, err, "STORE_FULL")
	for i := range written {
		commit(t, s, Txn{Delete: []string{fmt.Sprint("big/", i)}})
	}
	check(t, s.Close())

	opened := embedded(t, dir)
	defer opened.Close()
	lead(t, opened)
	commit(t, opened, Txn{Put: []Entry{{Key: "small"}}})
}

func TestZapFieldsReachTheLog(t *testing.T) {
	var out bytes.Buffer
	log := zapLogger(hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info}), hclog.Warn, zapcore.WriteThenPanic).Sugar()
	log.With("member", 1).Warnw("slow disk", "took", "3s")
	log.Infow("not shown")
	log.Warn("1f cannot campaign at term 1 since there are still pending configuration changes to apply")
	if got := out.String(); !strings.Contains(got, "[WARN]  slow disk: member=1 took=3s") || strings.Contains(got, "shown") || strings.Contains(got, "campaign") {
		t.Errorf("logged %q", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                       "STORE_UNKNOWN",
		"sqlite":                 "STORE_UNKNOWN",
		"etcds://a:1":            "STORE_UNKNOWN",
		"etcd://":                "STORE_ENDPOINT_INVALID",
		"etcd://a":               "STORE_ENDPOINT_INVALID",
		"etcd://a:2379,":         "STORE_ENDPOINT_INVALID",
		"etcd://a:2379,http://b": "STORE_ENDPOINT_INVALID",
		"embedded":               "DATA_DIR_MISSING",
	} {
		_, err := Open(t.Context(), spec, "", Sharing{Lease: DefaultLease}, nil)
		wantReason(t, err, want)
	}
	_, err := Open(t.Context(), "etcd://a:2379,user:hush@b:2379", "", Sharing{Lease: DefaultLease}, nil)
	if wantReason(t, err, "STORE_ENDPOINT_INVALID"); strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), `"b:2379"`) {
		t.Errorf("a password is answered with %q", err)
	}
	s, err := Open(t.Context(), "memory", "", Sharing{Lease: DefaultLease}, nil)
	check(t, err)
	check(t, s.Close())
}

func TestEtcdUnreachable(t *testing.T) {
	// One port where nothing listens, and one where a listener never answers.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	closed := free.Addr().String()
	free.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	for _, address := range []string{closed, silent.Addr().String()} {
		_, err := openEtcd(t.Context(), []string{address}, Sharing{Lease: DefaultLease}, nil, 200*time.Millisecond)
		wantReason(t, err, "STORE_UNREACHABLE")
		if !strings.Contains(err.Error(), address) {
			t.Errorf("%q does not say where", err)
		}
	}
}

// slowKV does not answer the first deletions in time, as etcd on a slow disk.
type slowKV struct {
	clientv3.KV
	timeouts int
}

func (kv *slowKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	if kv.timeouts--; kv.timeouts >= 0 {
		return nil, rpctypes.ErrTimeout
	}
	return kv.KV.Delete(ctx, key, opts...)
}

// A store that does not answer at first is cleaned up when it does. One that has failed is not waited for.
func TestEmbeddedStartsOnASlowDisk(t *testing.T) {
	s, _, err := openEmbedded(t.Context(), t.TempDir(), nil, nil)
	check(t, err)
	defer s.Close()
	s.client.KV = &slowKV{KV: s.client.KV, timeouts: 2}
	check(t, s.cleanUpAfterRestart(t.Context()))
	s.client.KV.(*slowKV).timeouts = 1
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, s.cleanUpAfterRestart(canceled), context.Canceled)
	s.client.KV.(*slowKV).timeouts = 1
	s.cancel()
	wantIs(t, s.cleanUpAfterRestart(t.Context()), ErrClosed)
}
