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

	cause error
}

// Reasons of errors that come from this package instead of a coordinator. docs/CLIENT-CONTRACT.md says what they mean.
const (
	NotReachable = "NOT_REACHABLE" // no coordinator answers at the address
	WatchLost    = "WATCH_LOST"    // a watch lost its connection; the job, which job_id names, may still be running
	// one side does not accept the certificate of the other, or does not speak TLS
	HandshakeFailed = fault.HandshakeFailed
	NotCleave       = "NOT_CLEAVE"        // the server at the address is not a coordinator
	OtherAPIVersion = "OTHER_API_VERSION" // the coordinator has another version of the API
	JobCanceled     = "JOB_CANCELLED"     // the job was canceled
	TimeLimit       = "TIME_LIMIT"        // the job reached its time limit and has no labels
	LabelsSoFar     = fault.LabelsSoFar   // the job reached its time limit and has labels
	BadAnswer       = "BAD_ANSWER"        // the coordinator sent something that cannot be right
)

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether the error means that the context of the call has ended.
func (e *Error) Is(target error) bool {
	return e.Reason == "" &&
		(target == context.Canceled && e.Code == codes.Canceled || target == context.DeadlineExceeded &&
			e.Code == codes.DeadlineExceeded)
}

// GRPCStatus returns the status of the call, for package google.golang.org/grpc/status.
func (e *Error) GRPCStatus() *status.Status {
	var call interface{ GRPCStatus() *status.Status }
	if errors.As(e.cause, &call) {
		return call.GRPCStatus()
	}
	if s, is := status.FromError(wire.Status(e.cause)); is && e.cause != nil {
		return s
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
		RetryAfter: f.Retry, cause: f}
}

// refused converts a fault that was found before a call to an *Error. Other errors stay as they are, including
// an *Error of a call whose cause is a fault.
func refused(err error) error {
	if f, is := err.(*fault.Error); is {
		return ofFault(f)
	}
	return err
}

// badAnswer returns the error for an answer that cannot be right.
func badAnswer(format string, args ...any) error {
	return &Error{Code: codes.Internal, Reason: BadAnswer, Message: fmt.Sprintf(format, args...)}
}

// callError joins a fault with the error of the call that it explains, so that both can be found in it.
type callError struct {
	fault *fault.Error
	call  error
}

func (e callError) Error() string   { return e.fault.Error() }
func (e callError) Unwrap() []error { return []error{e.fault, e.call} }

// explain converts the error of a call, or of a stream, to an *Error. Errors of other kinds, and nil, stay as they are.
func (c *Client) explain(err error) error {
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
		return c.unimplemented(s, err)
	case known != err:
		f, _ := errors.AsType[*fault.Error](known)
		return ofCall(f, err, s.Code())
	}
	return &Error{Code: s.Code(), Message: s.Message(), cause: err}
}

// ofCall returns the error for a call that failed for a known reason.
func ofCall(f *fault.Error, call error, code codes.Code) *Error {
	e := ofFault(f)
	e.Code = code
	e.cause = callError{f, call}
	return e
}

// unavailable explains why there is no answer.
func (c *Client) unavailable(s *status.Status, err error) error {
	if reason := wire.Reason(err); reason != "" {
		f := fault.New(fault.Unavailable, reason, "the coordinator at %s cannot handle the call now: %s",
			c.address, s.Message())
		if delay, helps := wire.RetryDelay(err); helps {
			f = f.RetryIn(delay)
		}
		return ofCall(f, err, s.Code())
	}
	if isHTTP(s.Message()) {
		return c.notCleave(err)
	}
	message := innermost(s.Message())
	explained := c.terms.Explain(message)
	f := fault.New(fault.Unavailable, NotReachable, "the coordinator at %s does not answer: %s", c.address, explained)
	code := codes.Unavailable
	if explained != message || strings.Contains(s.Message(), "authentication handshake failed") {
		f.Kind = fault.FailedPrecondition
		f.Reason = HandshakeFailed
		code = codes.FailedPrecondition
	}
	return ofCall(f, err, code)
}

// watchLost returns the error of a watch that is given up for a temporary error. Any other error ends the watch as it
// is.
func watchLost(jobID string, err error) error {
	e, is := errors.AsType[*Error](err)
	if !is || !e.Temporary() {
		return err
	}
	f := fault.New(fault.Unavailable, WatchLost, "job %s cannot be watched, and may still be running: %s",
		jobID, e.Message).With("job_id", jobID).RetryIn(e.RetryAfter)
	return ofCall(f, e, codes.Unavailable)
}

// notCleave returns the error for an address where something else answers.
func (c *Client) notCleave(err error) error {
	return ofCall(fault.New(fault.FailedPrecondition, NotCleave,
		"the server at %s is not a Cleave coordinator; check the host and the port", c.address), err,
		codes.FailedPrecondition)
}

// unimplemented explains why a method is not there: the other side has another version of the API, or is not a
// coordinator.
func (c *Client) unimplemented(s *status.Status, err error) error {
	services, unknown := c.leader.services()
	isCleave := func(service string) bool { return strings.HasPrefix(service, "cleave.") }
	if status.Code(unknown) == codes.Unimplemented || unknown == nil && !slices.ContainsFunc(services, isCleave) {
		return c.notCleave(err)
	}
	return ofCall(fault.New(fault.FailedPrecondition, OtherAPIVersion,
		"the coordinator at %s and this client have different versions of the API (%s); "+
			"use the same release for both", c.address, s.Message()), err, codes.FailedPrecondition)
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
