package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// Error is the error of a call, a connection or a job. Use errors.As to get it.
type Error struct {
	Code       codes.Code        // the canonical gRPC code
	Reason     string            // stable identifier in UPPER_SNAKE case, for programs; may be empty
	Message    string            // a sentence that tells what is wrong and what to do
	Field      string            // path of the request field at fault, such as "spec.k"; may be empty
	Metadata   map[string]string // details for programs, such as row, column or limit
	RetryAfter time.Duration     // when a retry may help; 0 if unknown

	fault *fault.Error // the same for errors.As; nil if there is no reason
	cause error        // what this error explains: that of a call, or of the caller's own code; may be nil
}

// Reasons of errors that clients find themselves. test/clients/contract.json lists those of all clients with their
// codes, and docs/CLIENT-CONTRACT.md says what they mean.
const (
	NotReachable    = "NOT_REACHABLE"       // no coordinator answers at the address, or the connection broke
	HandshakeFailed = fault.HandshakeFailed // one side does not accept the other's certificate, or has no TLS
	NotCleave       = "NOT_CLEAVE"          // the server at the address is not a coordinator
	OtherAPIVersion = "OTHER_API_VERSION"   // the coordinator has another version of the API
	WatchLost       = "WATCH_LOST"          // a watch was given up; the job, which job_id names, may still be running
	JobFailed       = "JOB_FAILED"          // the job failed, and the coordinator does not say why
	JobCanceled     = "JOB_CANCELLED"       // the job was canceled
	TimeLimit       = "TIME_LIMIT"          // the job reached its time limit and has no labels
	LabelsSoFar     = fault.LabelsSoFar     // the job reached its time limit and has labels; see JobError
	BadAnswer       = "BAD_ANSWER"          // the coordinator sent something that cannot be right
	UploadDamaged   = wire.UploadDamaged    // an upload arrived as something else
)

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error in the form of this module, and the cause.
func (e *Error) Unwrap() (all []error) {
	if e.fault != nil {
		all = append(all, e.fault)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// Is reports whether the error means that the context of the call has ended.
func (e *Error) Is(target error) bool {
	return e.Reason == "" &&
		(target == context.Canceled && e.Code == codes.Canceled || target == context.DeadlineExceeded &&
			e.Code == codes.DeadlineExceeded)
}

// GRPCStatus returns the error as a status, for package google.golang.org/grpc/status.
func (e *Error) GRPCStatus() *status.Status {
	if e.fault != nil {
		return status.Convert(wire.Status(e.fault))
	}
	return status.New(e.Code, e.Message)
}

// Temporary reports whether the same call may succeed later.
func (e *Error) Temporary() bool {
	return e.Code == codes.Unavailable || e.RetryAfter > 0
}

// ofFault returns the error for a fault.
func ofFault(f *fault.Error) *Error {
	return &Error{Code: wire.CodeOf(f.Kind), Reason: f.Reason, Message: f.Message, Field: f.Field, Metadata: f.Metadata,
		RetryAfter: f.Retry, fault: f}
}

// explaining returns the error for a fault that explains why something failed.
func explaining(cause error, f *fault.Error) *Error {
	e := ofFault(f)
	e.cause = cause
	return e
}

// asError converts a fault that was found before a call, and what wraps one, to an *Error. Other errors stay as they
// are, including an *Error of a call.
func asError(err error) error {
	if _, is := errors.AsType[*Error](err); is {
		return err
	}
	f, is := errors.AsType[*fault.Error](err)
	if !is {
		return err
	}
	own := *f
	own.Message = err.Error() // with what a wrapping error adds
	return explaining(err, &own)
}

// unexplained returns the error of a call that an *Error explains, or err if it explains none.
func unexplained(err error) error {
	if e, is := errors.AsType[*Error](err); is && e.cause != nil {
		return unexplained(e.cause)
	}
	return err
}

// contextEnded returns the error of a call whose context ended before it could be retried. The error wraps that of the
// context; its message includes last, the error of the last attempt.
func contextEnded(ended, last error) *Error {
	code := codes.Canceled
	if errors.Is(ended, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return &Error{Code: code, Message: fmt.Sprintf("%v before another attempt; the last one: %v", ended, last),
		cause: ended}
}

// badAnswer returns the error for an answer that cannot be right.
func badAnswer(format string, args ...any) error {
	return ofFault(fault.New(fault.Internal, BadAnswer, format, args...))
}

// explain converts the error of a call, or of a stream, to an *Error. Errors of other kinds, and nil, stay as they are.
// It may ask what is at the address, until ctx ends.
func (c *Client) explain(ctx context.Context, err error) error {
	if _, is := errors.AsType[*Error](err); is || err == nil {
		return err
	}
	s, is := status.FromError(err)
	if !is {
		return err
	}
	switch known := wire.Fault(err); {
	case s.Code() == codes.Unavailable || isHTTP(s.Message()):
		return c.unavailable(s, err)
	case s.Code() == codes.Unimplemented && wire.Reason(err) == "":
		return c.unimplemented(ctx, s, err)
	case known != err:
		f, _ := errors.AsType[*fault.Error](known)
		return explaining(err, f)
	}
	return &Error{Code: s.Code(), Message: s.Message(), cause: err}
}

// unavailable explains why there is no answer.
func (c *Client) unavailable(s *status.Status, err error) error {
	if reason := wire.Reason(err); reason != "" {
		f := fault.New(fault.Unavailable, reason, "the coordinator at %s cannot handle the call now: %s",
			c.address, s.Message())
		if delay, helps := wire.RetryDelay(err); helps {
			f = f.RetryIn(delay)
		}
		return explaining(err, f)
	}
	if isHTTP(s.Message()) {
		return c.notCleave(err)
	}
	message := innermost(s.Message())
	explained := c.terms.Explain(message)
	f := fault.New(fault.Unavailable, NotReachable, "the coordinator at %s does not answer: %s", c.address, explained)
	if explained != message || strings.Contains(s.Message(), "authentication handshake failed") {
		f.Kind = fault.FailedPrecondition
		f.Reason = HandshakeFailed
	}
	return explaining(err, f)
}

// watchLost returns the error of a watch that is given up for a temporary error. Any other error ends the watch as it
// is.
func watchLost(jobID string, err error) error {
	e, is := errors.AsType[*Error](err)
	if !is || !e.Temporary() {
		return err
	}
	return explaining(e, fault.New(fault.Unavailable, WatchLost,
		"job %s cannot be watched, and may still be running: %s", jobID, e.Message).With("job_id", jobID).RetryIn(
		e.RetryAfter))
}

// notCleave returns the error for an address where something else answers.
func (c *Client) notCleave(err error) error {
	return explaining(err, fault.New(fault.FailedPrecondition, NotCleave,
		"the server at %s is not a Cleave coordinator; check the host and the port", c.address))
}

// unimplemented explains why a method is not there: the other side has another version of the API, or is not a
// coordinator.
func (c *Client) unimplemented(ctx context.Context, s *status.Status, err error) error {
	services, unknown := c.leader.services(ctx)
	isCleave := func(service string) bool { return strings.HasPrefix(service, "cleave.") }
	if status.Code(unknown) == codes.Unimplemented || unknown == nil && !slices.ContainsFunc(services, isCleave) {
		return c.notCleave(err)
	}
	return explaining(err, fault.New(fault.FailedPrecondition, OtherAPIVersion,
		"the coordinator at %s and this client have different versions of the API (%s); "+
			"use the same release for both", c.address, s.Message()))
}

// isHTTP reports whether an error of gRPC means that the other side speaks another protocol.
func isHTTP(message string) bool {
	for _, sign := range []string{
		"looked like an HTTP/1.1 header", "http2: frame too large", "received unexpected content-type",
		"unexpected HTTP status code",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

// innermost returns the cause of a failed connection, given the message of the transport, without gRPC's wrapping:
// `... code = Unavailable desc = "reason"`.
func innermost(message string) string {
	if at := strings.LastIndex(message, "desc = "); at >= 0 {
		message = message[at+len("desc = "):]
	}
	message = strings.Trim(message, `"`)
	for _, wrapping := range []string{"transport: Error while dialing: ",
		"transport: authentication handshake failed: "} {
		message = strings.TrimPrefix(message, wrapping)
	}
	return message
}
