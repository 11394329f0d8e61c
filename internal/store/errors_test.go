package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

func TestAFullDiskSaysSo(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/data/blobs/jobs/1/labels.17ab.tmp", Err: syscall.ENOSPC}
	err := blobError("jobs/1/labels", full)
	if !fault.Is(err, "DISK_FULL") || AnswerOf(err) != NoSpace || strings.Contains(err.Error(), "/data") {
		t.Errorf("got %v", err)
	}
	_, err = (&explainingWriter{failingWriter{full}, &directory{}, "jobs/1/labels"}).Write([]byte("x"))
	wantReason(t, err, "DISK_FULL")
}

func TestBlobErrorsLeaveOutPaths(t *testing.T) {
	for _, cause := range []error{
		&fs.PathError{Op: "open", Path: "/data/blobs/jobs/1/labels", Err: syscall.EIO},
		&os.LinkError{Op: "rename", Old: "/data/blobs/x.tmp", New: "/data/blobs/x", Err: syscall.EIO},
	} {
		err := blobError("jobs/1/labels", cause)
		f, _ := errors.AsType[*fault.Error](err)
		if !fault.Is(err, "BLOBS_UNAVAILABLE") || AnswerOf(err) != Unanswered || !errors.Is(f.Cause, syscall.EIO) ||
			strings.Contains(err.Error(), "/data") || !strings.Contains(err.Error(), "jobs/1/labels") {
			t.Errorf("got %v", err)
		}
	}
}

// failingDriver is a bucket that fails to answer about sealed blobs, as an overloaded object store may, and has no
// others.
type failingDriver struct {
	driver.Bucket
	failure error
}

func (d failingDriver) Attributes(_ context.Context, key string) (*driver.Attributes, error) {
	if strings.HasSuffix(key, seal.Suffix) {
		return nil, d.failure
	}
	return nil, ErrNotFound
}

func (failingDriver) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, ErrNotFound) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}

func (failingDriver) Close() error { return nil }

// A store that does not answer is not taken for one without the blob, because callers take a missing blob for lost
// data.
func TestTheSizeOfABlobInAStoreThatFails(t *testing.T) {
	b := &sealedBlobs{bucket: objectStore{blob.NewBucket(failingDriver{failure: errors.New("503 Slow Down")})}}
	defer b.Close()
	if _, err := b.Size(t.Context(), "labels"); AnswerOf(err) != Unanswered {
		t.Errorf("got %v", err)
	}
	b = &sealedBlobs{bucket: objectStore{blob.NewBucket(failingDriver{failure: ErrNotFound})}}
	defer b.Close()
	if _, err := b.Size(t.Context(), "labels"); !errors.Is(err, ErrNotFound) {
		t.Errorf("of a blob that is not there: %v", err)
	}
}

// Callers wait for a directory that cannot be read now, such as one of a file server.
func TestListingADirectoryThatFails(t *testing.T) {
	root := t.TempDir()
	b, err := OpenBlobs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.WriteFile(filepath.Join(root, "jobs"), nil, 0o600); err != nil { // no directory can be below it
		t.Fatal(err)
	}
	if _, err := b.List(t.Context(), "jobs/42/snapshots/"); !fault.Is(err, blobsUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestAMissingDirectoryNamesTheBlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	b, err := OpenBlobs(t.Context(), dir)
	check(t, err)
	defer b.Close()
	check(t, os.RemoveAll(dir))
	check(t, os.WriteFile(dir, nil, 0o600)) // so that it cannot be created again
	err = b.Put(t.Context(), "jobs/1", func(io.Writer) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "jobs/1") || strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
