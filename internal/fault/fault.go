// Package fault holds the errors that the user can fix: each has a kind, a stable reason in
// UPPER_SNAKE, and a sentence that says what is wrong, where, and what to do about it.
//
// It is pure: the wire package turns a fault into a gRPC status with google.rpc.ErrorInfo and
// back, and the command line turns it into an exit code.
package fault

import (
	"errors"
	"fmt"
)

// Kind classifies a fault; the wire package maps it to a gRPC code.
type Kind int

// The kinds of fault.
const (
	InvalidArgument    Kind = iota + 1 // the input is wrong, whatever the state of the system
	FailedPrecondition                 // valid, but not in the present state (cancel of a finished job)
	NotFound                           // no such job, dataset, worker
	AlreadyExists                      // a request id reused with another body
	ResourceExhausted                  // over a limit that the message names
	Canceled                           // the user asked for it
	Internal                           // a mistake of the program, not of the user
	DataLoss                           // something that was stored is damaged or gone
	DeadlineExceeded                   // the other side took too long
	Unavailable                        // a part of the system does not work now; trying again may help
	Unauthenticated                    // nobody knows who calls
	PermissionDenied                   // it is known who calls, and they may not
)

// Error is one fault.
type Error struct {
	Kind     Kind
	Reason   string            // UPPER_SNAKE, stable: programs match on it
	Message  string            // a sentence a person can act on
	Field    string            // the request field at fault, empty when none is
	Metadata map[string]string // details for programs: row, column, limit
	Retry    float64           // the seconds after which trying again may help; 0: nothing is known about it
	Cause    error             // for the log alone, such as the path of a file: nobody else is told
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Cause }

// New makes a fault of a kind.
func New(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a fault for input that is wrong in itself.
func Invalid(reason, format string, args ...any) *Error {
	return New(InvalidArgument, reason, format, args...)
}

// OnField names the request field at fault.
func (e *Error) OnField(field string) *Error {
	e.Field = field
	return e
}

// With adds a detail for programs.
func (e *Error) With(key, value string) *Error {
	if e.Metadata == nil {
		e.Metadata = map[string]string{}
	}
	e.Metadata[key] = value
	return e
}

// RetryIn says after how many seconds trying again may help.
func (e *Error) RetryIn(seconds float64) *Error {
	e.Retry = seconds
	return e
}

// Because keeps the error behind the fault, for the log.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Wrap puts a place ("points.csv: ") before the message of a fault and keeps everything else about
// it; any other error is wrapped with %w.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	place := fmt.Sprintf(format, args...)
	var f *Error
	if errors.As(err, &f) {
		wrapped := *f
		wrapped.Message = place + ": " + err.Error()
		return &wrapped
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Is tells whether err is a fault with this reason.
func Is(err error, reason string) bool {
	var f *Error
	return errors.As(err, &f) && f.Reason == reason
}

// Required returns an error if an identifier in a request is empty.
func Required(field, value string) error {
	if value == "" {
		return Invalid("FIELD_REQUIRED", "%s is empty; say which one you mean", field).OnField(field)
	}
	return nil
}
