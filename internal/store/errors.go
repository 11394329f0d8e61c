package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// Errors of stores. Callers tell them apart by AnswerOf, and where a call expects one of them, by errors.Is.
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
	storeFull        = "STORE_FULL"
	storeDamaged     = "STORE_DAMAGED"
	blobsUnavailable = "BLOBS_UNAVAILABLE"
)

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
			"the blob store does not work now (blob %q: %v); the log of the coordinator has more", name, system).
			With("blob", name).Because(err)
	}
	return fmt.Errorf("blob %q: %w", name, err)
}
