//go:build unix

package store

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// limitedDirectory, set in the environment, makes this test binary a process that may not write large files.
const limitedDirectory = "STORE_TEST_LIMITED_DIRECTORY"

// A file that cannot grow says so, and what was acknowledged is there.
func TestEmbeddedFileCannotGrow(t *testing.T) {
	if dir := os.Getenv(limitedDirectory); dir != "" {
		writeUntilLimit(t, dir)
		return
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestEmbeddedFileCannotGrow$", "-test.v")
	child.Env = append(os.Environ(), limitedDirectory+"="+dir)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	s := embedded(t, dir)
	defer s.Close()
	written := 0
	for line := range strings.Lines(string(out)) {
		if key, is := strings.CutPrefix(line, "committed "); is {
			get(t, s, strings.TrimSpace(key))
			written++
		}
	}
	if written < 2 {
		t.Errorf("%d transactions were acknowledged:\n%s", written, out)
	}
}

func writeUntilLimit(t *testing.T, dir string) {
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8 << 20, Max: 8 << 20}))
	s := embedded(t, dir)
	term := lead(t, s)
	for i := 0; ; i++ {
		key := fmt.Sprint("key/", i)
		_, err := s.Commit(t.Context(), Txn{Put: []Entry{{Key: key, Value: make([]byte, 1<<20)}}})
		if err == nil {
			fmt.Println("committed", key)
			continue
		}
		wantReason(t, err, storeFailed)
		if !strings.Contains(err.Error(), "file too large") {
			t.Errorf("got %v", err)
		}
		waitLost(t, term)
		check(t, s.Close())
		return
	}
}
