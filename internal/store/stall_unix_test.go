//go:build unix

package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// A system call that hangs: opening a named pipe that nobody writes to.
func TestAFileThatHangs(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "x"+seal.Suffix)
	check(t, syscall.Mkfifo(pipe, 0o600))
	below, err := OpenBlobs(t.Context(), dir)
	check(t, err)
	b := WithStallTimeout(below, 10*time.Millisecond, hclog.NewNullLogger())
	defer b.Close()
	_, err = b.Open(t.Context(), "x", 0, -1)
	wantReason(t, err, blobsUnavailable)
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // lets the reader go on
	check(t, err)
	check(t, w.Close())
	for began := time.Now(); ; { // the directory itself answers
		err := b.Put(t.Context(), "y", func(io.Writer) error { return nil })
		if err == nil || errors.Is(err, ErrExists) {
			break
		}
		if !fault.Is(err, blobsUnavailable) || time.Since(began) > testTimeout {
			t.Fatal(err)
		}
	}
}
