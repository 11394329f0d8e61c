package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// Errors that callers distinguish with errors.Is. After any other error from Commit, such as a canceled context, the
// transaction may or may not have happened: read before retrying.
var (
	ErrNotFound  = errors.New("store: not found")
	ErrConflict  = errors.New("store: a condition of the transaction does not hold")
	ErrNotLeader = errors.New("store: this process is not the leader")
	ErrClosed    = errors.New("store: closed")
	ErrExists    = errors.New("store: the blob exists already")
	ErrCompacted = errors.New("store: the state changed too often while it was read")
)

// Reasons of faults that callers distinguish with fault.Is.
const (
	DiskFull     = "DISK_FULL"
	BlobDamaged  = seal.Damaged
	ValueDamaged = "STATE_VALUE_DAMAGED"
	Unreachable  = "STORE_UNREACHABLE"

	dirInUse         = "DATA_DIR_IN_USE"
	dirUnusable      = "DATA_DIR_UNUSABLE"
	storeFailed      = "STORE_FAILED"
	storeDamaged     = "STORE_DAMAGED"
	blobsUnavailable = "BLOBS_UNAVAILABLE"
)

// IsPermanent reports whether the same call would fail again until somebody intervenes: the store rejects it
// (ErrNotFound, ErrConflict, ErrExists, or a *fault.Error that is not fault.Unavailable), or this process may no
// longer use the store (ErrNotLeader, ErrClosed). Other errors are temporary, such as an etcd that does not answer,
// or say nothing about the store, such as the end of the caller's context.
func IsPermanent(err error) bool {
	for _, refusal := range []error{ErrNotFound, ErrConflict, ErrNotLeader, ErrClosed, ErrExists} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	f, isFault := errors.AsType[*fault.Error](err)
	return isFault && f.Kind != fault.Unavailable
}

// IsUnavailable reports whether err means that a store does not answer at the moment.
func IsUnavailable(err error) bool {
	f, is := errors.AsType[*fault.Error](err)
	return is && f.Kind == fault.Unavailable
}

func unanswered(err error) error {
	return fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "the state store does not answer now; try again").
		Because(err)
}

// blobError adds the blob's name to an error. The path of a local file goes to the log only; clients see the name of
// the blob.
func blobError(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(fault.ResourceExhausted, DiskFull,
			"no space is left on the disk of the blob store; free some and try again").With("blob", name).Because(err)
	}
	var system syscall.Errno
	if errors.As(err, &system) {
		return fault.New(fault.Unavailable, blobsUnavailable,
			"the blob store does not work now (blob %q: %v); the log of the coordinator has more", name, system).With(
			"blob", name).Because(err)
	}
	return fmt.Errorf("blob %q: %w", name, err)
}
