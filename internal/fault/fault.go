// Package fault contains classified errors, as users and their programs get them. Each has a kind, a stable reason in
// UPPER_SNAKE case, and a sentence that says what is wrong, where, and what to do about it. Package wire converts
// faults to gRPC statuses with google.rpc.ErrorInfo and back; the command line converts them to exit codes.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"time"
)

// Kind classifies a fault. Package wire maps it to a gRPC code.
type Kind int

// The kinds of fault.
const (
	InvalidArgument Kind = iota + 1 // the input is wrong, regardless of the state of the system
	// the input is valid, but not in the current state, such as canceling a finished job
	FailedPrecondition
	NotFound          // there is no such job, data set or worker
	AlreadyExists     // a request ID was reused with another body
	ResourceExhausted // a limit, named in the message, was exceeded
	Canceled          // the user canceled the operation
	Internal          // a bug in the program
	DataLoss          // stored data is damaged or missing
	DeadlineExceeded  // the other side took too long to answer
	Unavailable       // part of the system is not working; retrying may help
	Unauthenticated   // the caller is unknown
	PermissionDenied  // the caller is known, but not allowed to do this
)

// Reasons on which exit codes depend.
const (
	LabelsSoFar     = "LABELS_SO_FAR"    // a job reached its time limit and has labels
	HandshakeFailed = "HANDSHAKE_FAILED" // one side does not accept the certificate of the other
)

// Error is a fault. Errors that wrap one are recognized by errors.As. Its methods return changed copies: an error may
// be stored, and given out more than once.
type Error struct {
	Kind     Kind
	Reason   string            // stable identifier in UPPER_SNAKE case, for programs
	Message  string            // a sentence that tells the user what to do
	Field    string            // path of the request field at fault; may be empty
	Metadata map[string]string // details for programs, such as row, column or limit
	Retry    time.Duration     // how long to wait before retrying; 0 if unknown
	Cause    error             // details for the log only, such as the path of a file; errors.Is does not see it
}

func (e *Error) Error() string { return e.Message }

// New returns a fault of the given kind. The message is formatted as by fmt.Sprintf.
func New(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a fault of kind InvalidArgument.
func Invalid(reason, format string, args ...any) *Error {
	return New(InvalidArgument, reason, format, args...)
}

// problemKey is the detail of a fault about a row that holds its message without the place.
const problemKey = "problem"

// InRow returns a fault of kind InvalidArgument about a row. The format continues a sentence that begins with the
// row: "row 3" and " is all zeros". Problem returns the parts, so that a caller who knows rows by other names can
// name the place.
func InRow(row int, reason, format string, args ...any) *Error {
	problem := fmt.Sprintf(format, args...)
	return Invalid(reason, "row %d%s", row, problem).With("row", strconv.Itoa(row)).With(problemKey, problem)
}

// InCell is InRow for one column of the row: "row 3, column 1" and " is -7".
func InCell(row, column int, reason, format string, args ...any) *Error {
	problem := fmt.Sprintf(format, args...)
	return Invalid(reason, "row %d, column %d%s", row, column, problem).With("row", strconv.Itoa(row)).
		With("column", strconv.Itoa(column)).With(problemKey, problem)
}

// Problem returns the place and the problem of a fault by InRow or InCell; column is negative by InRow. It returns
// false for other faults, and for those whose message Wrap has changed.
func (e *Error) Problem() (row, column int, problem string, ok bool) {
	row, err := strconv.Atoi(e.Metadata["row"])
	problem, ok = e.Metadata[problemKey]
	if err != nil || !ok {
		return 0, 0, "", false
	}
	if column, err = strconv.Atoi(e.Metadata["column"]); err != nil {
		column = -1
	}
	return row, column, problem, true
}

// OnField returns e with the path of the request field at fault.
func (e *Error) OnField(field string) *Error {
	changed := *e
	changed.Field = field
	return &changed
}

// With returns e with one more detail for programs.
func (e *Error) With(key, value string) *Error {
	changed := *e
	changed.Metadata = make(map[string]string, len(e.Metadata)+1)
	maps.Copy(changed.Metadata, e.Metadata)
	changed.Metadata[key] = value
	return &changed
}

// RetryIn returns e with how long to wait before retrying.
func (e *Error) RetryIn(wait time.Duration) *Error {
	changed := *e
	changed.Retry = wait
	return &changed
}

// Because returns e with its cause, which is only logged.
func (e *Error) Because(cause error) *Error {
	changed := *e
	changed.Cause = cause
	return &changed
}

// Wrap prefixes the message of a fault with a place, such as "points.csv: ", and keeps everything else. Other errors
// are wrapped with %w. It returns nil if err is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	place := fmt.Sprintf(format, args...)
	var f *Error
	if errors.As(err, &f) {
		wrapped := *f
		wrapped.Message = place + ": " + err.Error()
		wrapped.Metadata = maps.Clone(f.Metadata)
		delete(wrapped.Metadata, problemKey)
		return &wrapped
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Is reports whether err is, or wraps, a fault with this reason.
func Is(err error, reason string) bool {
	var f *Error
	return errors.As(err, &f) && f.Reason == reason
}

// Panicked returns the fault of a call or a run that panicked with p.
func Panicked(p any) *Error {
	return New(Internal, "PANIC", "this is a defect in Cleave, please report it: %v", p)
}

// Guard calls do, and turns a panic into an error, so that it does not end the program. It logs the panic with its
// stack.
func Guard(log func(message string, args ...any), do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log("recovered from a panic", "panic", p, "stack", string(debug.Stack()))
			err = Panicked(p)
		}
	}()
	return do()
}

// Required returns a fault if the value of a request field is empty.
func Required(field, value string) error {
	if value == "" {
		return Invalid("FIELD_REQUIRED", "%s is required", field).OnField(field)
	}
	return nil
}
