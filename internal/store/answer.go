package store

import (
	"errors"

	"github.com/cleave-project/cleave/internal/fault"
)

// Answer says how a State or a Blobs has answered a call, as far as its caller must know to go on. See the table in the
// comment of the package.
type Answer int

// The answers to a call.
const (
	Done       Answer = iota // there is no error
	Refused                  // the store rejects the call, such as one for a blob that does not exist
	Conflict                 // a condition of the transaction does not hold
	NoSpace                  // the disk is full, or etcd has reached its quota
	Unanswered               // the store does not answer now
	Unclear                  // any other error, such as the end of the caller's context
	Deposed                  // this process is not, or no longer, the leader
	Closed                   // the store was closed
	Failed                   // the store failed on its own; the error is a *Failure
)

// AnswerOf returns the answer to a call that returned err.
func AnswerOf(err error) Answer {
	_, failed := errors.AsType[*Failure](err)
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return Done
	case failed:
		return Failed
	case errors.Is(err, ErrClosed):
		return Closed
	case errors.Is(err, ErrNotLeader):
		return Deposed
	case errors.Is(err, ErrConflict):
		return Conflict
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		return Refused
	case !isFault:
		return Unclear
	case f.Kind == fault.Unavailable:
		return Unanswered
	case f.Reason == DiskFull, f.Reason == storeFull:
		return NoSpace
	}
	return Refused
}

// MayPass reports whether the same call may succeed later although nobody intervenes.
func (a Answer) MayPass() bool { return a == Unanswered || a == Unclear }

// MayPassWithSpace reports whether the same call may succeed later, once somebody has made space if there is none.
func (a Answer) MayPassWithSpace() bool { return a.MayPass() || a == NoSpace }

// MayBeCommitted reports whether a transaction may have been committed although Commit returned an error. Whatever the
// transaction refers to must then be kept.
func (a Answer) MayBeCommitted() bool { return a.MayPass() || a == Closed || a == Failed }

// IsFinal reports whether this process can do nothing more with the store, at least in this term.
func (a Answer) IsFinal() bool { return a == Deposed || a == Closed || a == Failed }

// Failure is the error of all calls of a state that has failed on its own, from then on. It carries the fault that says
// what to do. The process must end, and leaves its jobs to the next one.
type Failure struct{ Fault *fault.Error }

func (f *Failure) Error() string { return f.Fault.Error() }

// Unwrap returns the fault.
func (f *Failure) Unwrap() error { return f.Fault }
