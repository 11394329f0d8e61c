package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// smallDisk is a directory on a disk of its own, in memory.
func smallDisk(t *testing.T, mebibytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mebibytes)); err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill takes all of a disk but so many bytes, and returns what frees it again.
func fill(t *testing.T, dir string, leave int64) (empty func()) {
	t.Helper()
	free, known := FreeBytes(dir)
	if !known || free < leave {
		t.Fatalf("%d bytes are free", free)
	}
	file, err := os.Create(filepath.Join(dir, "filler"))
	check(t, err)
	defer file.Close()
	check(t, syscall.Fallocate(int(file.Fd()), 0, 0, free-leave))
	return func() { check(t, os.Remove(file.Name())) }
}

// On a disk that is nearly full the store takes nothing more but what makes room, and goes on when there is space
// again.
func TestEmbeddedNearlyFullDisk(t *testing.T) {
	dir := smallDisk(t, 200)
	s := embedded(t, filepath.Join(dir, "data"))
	defer s.Close()
	lead(t, s)
	commit(t, s, Txn{Put: []Entry{{Key: "jobs/1"}}})
	empty := fill(t, dir, neededSpace+8<<20)
	_, err := s.Commit(t.Context(), Txn{Put: []Entry{{Key: "jobs/2"}}})
	wantReason(t, err, DiskFull)
	if strings.Contains(err.Error(), dir) {
		t.Errorf("a path for clients: %v", err)
	}
	exchange := Txn{Delete: []string{"jobs/1"}, Put: []Entry{{Key: "garbage/1"}}}
	_, err = s.Commit(t.Context(), exchange)
	wantReason(t, err, DiskFull)
	exchange.Urgent = true
	commit(t, s, exchange)
	commit(t, s, Txn{Delete: []string{"jobs/1"}})
	empty()
	commit(t, s, Txn{Put: []Entry{{Key: "jobs/2"}}})
	empty = fill(t, dir, 1<<20)
	_, err = s.Commit(t.Context(), Txn{Delete: []string{"jobs/2"}})
	wantReason(t, err, DiskFull)
	empty()
	if got := keys(t, s, "", "", 0); fmt.Sprint(got) != "[garbage/1 jobs/2]" {
		t.Errorf("the keys are %q", got)
	}
}

// fullDisk, set in the environment, makes this test binary a process whose store runs into the end of its disk.
const fullDisk = "STORE_TEST_FULL_DISK"

// A store whose writes fail in spite of its reserve does not take the process down: its calls say why, and it stops
// leading.
func TestEmbeddedWriteFails(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		writeUntilFull(t, dir)
		os.Exit(0) // the writer may still wait for the disk
	}
	dir := smallDisk(t, 100)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEmbeddedWriteFails$")
	child.Env = append(os.Environ(), fullDisk+"="+dir)
	out, err := child.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "said: the state store has failed") ||
		!strings.Contains(said, "no space left") {
		t.Errorf("%v:\n%s", err, said)
	}
	check(t, os.Remove(filepath.Join(dir, "filler")))
	s := embedded(t, filepath.Join(dir, "data"))
	defer s.Close()
	get(t, s, "jobs/1")
}

func writeUntilFull(t *testing.T, dir string) {
	s, err := openBolt(t.Context(), filepath.Join(dir, "data"), nil)
	check(t, err)
	s.admit = nil
	term := lead(t, s)
	commit(t, s, Txn{Put: []Entry{{Key: "jobs/1"}}})
	fill(t, dir, 1<<20)
	for err == nil {
		_, err = s.Commit(t.Context(), Txn{Put: []Entry{{Key: "big", Value: make([]byte, 1<<20)}}})
	}
	wantReason(t, err, "STORE_FAILED")
	if AnswerOf(err) != Failed {
		t.Errorf("not as of a store that failed: %v", err)
	}
	waitLost(t, term)
	_, again := s.Get(t.Context(), "jobs/1")
	wantReason(t, again, "STORE_FAILED")
	check(t, s.Close())
	fmt.Println("said:", err)
}

// Blobs that do not fit or cannot be written: a typed error without a path, the path for the log, and nothing is left.
func TestBlobsOnABadDisk(t *testing.T) {
	dir := smallDisk(t, 4)
	b, err := OpenBlobs(t.Context(), filepath.Join(dir, "blobs"))
	check(t, err)
	defer b.Close()
	put(t, b, "jobs/1/spec", pattern(1000))
	write := func() error {
		return b.Put(t.Context(), "jobs/1/labels", func(w io.Writer) error {
			_, err := w.Write(make([]byte, 8<<20))
			return err
		})
	}
	refused := func(kind fault.Kind, reason string) {
		t.Helper()
		err := write()
		f, is := errors.AsType[*fault.Error](err)
		fits := is && f.Kind == kind && f.Reason == reason && !strings.Contains(f.Message, dir)
		if !fits || f.Cause == nil || !strings.Contains(f.Cause.Error(), dir) {
			t.Errorf("got %v, want the fault %s; behind it is %v", err, reason, f)
		}
		onlyBlobs(t, b, "jobs/1/spec")
	}
	refused(fault.ResourceExhausted, DiskFull)
	check(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	refused(fault.Unavailable, "BLOBS_UNAVAILABLE")
	check(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=64m"))
	check(t, write())
}
