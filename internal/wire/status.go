// Package wire knows both sides: the messages of the API and the types of the domain, the faults
// of the domain and the statuses of gRPC. Nothing else converts between them.
package wire

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// Domain is the google.rpc.ErrorInfo domain of every error that is ours.
const Domain = "cleave"

// maxStatusText keeps errors within the 8 KiB of metadata that gRPC implementations take by
// default: the message travels up to three times, in base64.
const maxStatusText = 1200

var codeOf = map[fault.Kind]codes.Code{
	fault.InvalidArgument:    codes.InvalidArgument,
	fault.FailedPrecondition: codes.FailedPrecondition,
	fault.NotFound:           codes.NotFound,
	fault.AlreadyExists:      codes.AlreadyExists,
	fault.ResourceExhausted:  codes.ResourceExhausted,
	fault.Cancelled:          codes.Canceled,
	fault.Internal:           codes.Internal,
}

// Code is the gRPC code of a kind of fault.
func Code(kind fault.Kind) codes.Code {
	if code, known := codeOf[kind]; known {
		return code
	}
	return codes.Internal
}

func kindOf(code codes.Code) (fault.Kind, bool) {
	for kind, c := range codeOf {
		if c == code {
			return kind, true
		}
	}
	return 0, false
}

// Status turns any error into a gRPC status error. A fault becomes its code with ErrorInfo, and
// BadRequest when it names a field; a status stays what it is; the end of a context keeps its
// code; all else is INTERNAL.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if f, is := errors.AsType[*fault.Error](err); is {
		return newStatus(Code(f.Kind), f.Reason, err.Error(), f.Field, f.Metadata)
	}
	if s, is := status.FromError(err); is {
		return s.Err()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return newStatus(codes.Canceled, "CALL_CANCELLED", "the call was cancelled", "", nil)
	case errors.Is(err, context.DeadlineExceeded):
		return newStatus(codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "the call took longer than its deadline", "", nil)
	}
	return newStatus(codes.Internal, "INTERNAL", err.Error(), "", nil)
}

// Unavailable is the status of a server that cannot answer now: try again, perhaps elsewhere.
func Unavailable(reason, message string) error {
	return newStatus(codes.Unavailable, reason, message, "", nil)
}

func newStatus(code codes.Code, reason, message, field string, metadata map[string]string) error {
	message = printable(message)
	info := &errdetails.ErrorInfo{Reason: reason, Domain: Domain}
	for key, value := range metadata {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[key] = printable(value)
	}
	details := []protoadapt.MessageV1{info}
	if field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{
			Field: field, Description: message, Reason: reason,
		}}})
	}
	s := status.New(code, message)
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s.Err()
}

// printable is text that fits into a status and is valid in a protobuf string.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxStatusText {
		return text
	}
	cut := maxStatusText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Fault turns a status that came from a coordinator back into the fault it was. Errors that are
// not ours (the network, a deadline, UNAVAILABLE) are returned as they are.
func Fault(err error) error {
	s, is := status.FromError(err)
	if err == nil || !is {
		return err
	}
	kind, known := kindOf(s.Code())
	if !known {
		return err
	}
	var f *fault.Error
	for _, detail := range s.Details() {
		if info, is := detail.(*errdetails.ErrorInfo); is && info.GetDomain() == Domain {
			f = &fault.Error{Kind: kind, Reason: info.GetReason(), Message: s.Message(), Metadata: info.GetMetadata()}
		}
	}
	if f == nil && kind == fault.ResourceExhausted {
		// The transport's own words: a message over its limit, which only a job's spec can be.
		f = &fault.Error{Kind: kind, Reason: "MESSAGE_TOO_LARGE", Message: "the job's constraints, seeds, weights, labels and centroids together are too large for one request: " + s.Message()}
	}
	if f == nil {
		return err
	}
	for _, detail := range s.Details() {
		if bad, is := detail.(*errdetails.BadRequest); is && len(bad.GetFieldViolations()) > 0 {
			f.Field = bad.GetFieldViolations()[0].GetField()
		}
	}
	return f
}

// ErrorProto is a fault as a part of a message.
func ErrorProto(f *fault.Error) *cleavev1.Error {
	p := &cleavev1.Error{Code: int32(Code(f.Kind)), Reason: f.Reason, Message: strings.ToValidUTF8(f.Message, "\uFFFD"), Field: f.Field}
	for key, value := range f.Metadata {
		if p.Metadata == nil {
			p.Metadata = map[string]string{}
		}
		p.Metadata[key] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return p
}

// JobFault is why a job failed, nil when it did not.
func JobFault(job *cleavev1.Job) error { return FaultOf(job.GetError()) }

// FaultOf is the fault that a message carries, nil when it carries none.
func FaultOf(p *cleavev1.Error) error {
	if p == nil {
		return nil
	}
	kind, known := kindOf(codes.Code(p.GetCode()))
	if !known {
		kind = fault.Internal
	}
	return &fault.Error{Kind: kind, Reason: p.GetReason(), Message: p.GetMessage(), Field: p.GetField(), Metadata: p.GetMetadata()}
}
