//go:build unix

package store

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// A blob whose name cannot be made durable is not there, so that the next attempt succeeds.
func TestANameThatIsNotDurable(t *testing.T) {
	b, err := OpenBlobs(t.Context(), t.TempDir())
	check(t, err)
	defer b.Close()
	var limit syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	put := func(files uint64) error {
		defer func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
		return b.Put(t.Context(), "x", func(io.Writer) error { // from here on, no directory can be opened
			return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: limit.Max})
		})
	}
	err = put(0)
	if f, _ := errors.AsType[*fault.Error](err); f == nil || !errors.Is(f.Cause, syscall.EMFILE) {
		t.Fatalf("without files: %v", err)
	}
	check(t, put(limit.Cur))
}
