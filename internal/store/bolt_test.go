package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
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
	lead(t, s)
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

func TestEmbeddedIsQuiet(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Debug})
	s, err := OpenEmbedded(t.Context(), t.TempDir(), log)
	check(t, err)
	lead(t, s)
	check(t, s.Close())
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "the disk of the state store is slow") {
			t.Errorf("logged %q", line)
		}
	}
}
