// Package wire converts between the messages of the API and the types of the domain, between the messages to workers
// and the types they carry, and between faults and gRPC statuses. Conversions belong here and nowhere else; decisions
// do not.
package wire

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// Domain is the google.rpc.ErrorInfo domain of all errors of Cleave.
const Domain = "cleave"

// NotLeader is the reason of errors of a coordinator that does not lead. If it knows the leader, the metadata has the
// leader's address under LeaderKey.
const (
	NotLeader = "NOT_LEADER"
	LeaderKey = "leader"
)

// LeaderOf reports whether an error means that a coordinator does not lead, and returns the leader's address, or ""
// if unknown.
func LeaderOf(err error) (address string, notLeader bool) {
	info := infoOf(status.Convert(err))
	if info.GetReason() != NotLeader {
		return "", false
	}
	return info.GetMetadata()[LeaderKey], true
}

// infoOf returns what an error of Cleave says about its reason, nil for other errors. A proxy may have added an
// ErrorInfo of its own.
func infoOf(s *status.Status) *errdetails.ErrorInfo {
	for _, detail := range s.Details() {
		if info, is := detail.(*errdetails.ErrorInfo); is && info.GetDomain() == Domain {
			return info
		}
	}
	return nil
}

// detailOf returns the detail of this type, nil if there is none.
func detailOf[D any](s *status.Status) (found D) {
	for _, detail := range s.Details() {
		if d, is := detail.(D); is {
			return d
		}
	}
	return found
}

// maxStatusText keeps errors within the 8 KiB of metadata that gRPC implementations accept by default. A status
// contains the message up to three times, in base64.
const maxStatusText = 1200

var codeOf = map[fault.Kind]codes.Code{
	fault.InvalidArgument:    codes.InvalidArgument,
	fault.FailedPrecondition: codes.FailedPrecondition,
	fault.NotFound:           codes.NotFound,
	fault.AlreadyExists:      codes.AlreadyExists,
	fault.ResourceExhausted:  codes.ResourceExhausted,
	fault.Canceled:           codes.Canceled,
	fault.Internal:           codes.Internal,
	fault.DataLoss:           codes.DataLoss,
	fault.DeadlineExceeded:   codes.DeadlineExceeded,
	fault.Unavailable:        codes.Unavailable,
	fault.Unauthenticated:    codes.Unauthenticated,
	fault.PermissionDenied:   codes.PermissionDenied,
}

// CodeOf returns the gRPC code of a kind of fault.
func CodeOf(kind fault.Kind) codes.Code {
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

// Status converts any error to a gRPC status error. A fault, or what package refusal makes one, gets the code of its
// kind, an ErrorInfo, a BadRequest if it names a field, and a RetryInfo if retrying may help. A status stays as it is,
// an ended context becomes CANCELLED or DEADLINE_EXCEEDED, and everything else is INTERNAL. It returns nil for nil.
func Status(err error) error {
	if err == nil {
		return nil
	}
	err = refusal.Of(err)
	if f, is := errors.AsType[*fault.Error](err); is {
		return newStatus(CodeOf(f.Kind), f.Reason, err.Error(), f.Field, f.Metadata, f.Retry)
	}
	if s, is := status.FromError(err); is {
		return s.Err()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return newStatus(codes.Canceled, "CALL_CANCELLED", "the call was canceled", "", nil, 0)
	case errors.Is(err, context.DeadlineExceeded):
		return newStatus(codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "the call took longer than its deadline",
			"", nil, 0)
	}
	return newStatus(codes.Internal, "INTERNAL", err.Error(), "", nil, 0)
}

// Unavailable returns the status of a server that cannot answer now, so that clients retry.
func Unavailable(reason, message string) error {
	return newStatus(codes.Unavailable, reason, message, "", nil, 0)
}

// newStatus returns a gRPC status whose details have the reason, the field and when to retry.
func newStatus(code codes.Code, reason, message, field string, metadata map[string]string,
	retry time.Duration) error {
	message = shorten(message)
	info := &errdetails.ErrorInfo{Reason: reason, Domain: Domain, Metadata: shortenAll(metadata)}
	details := []protoadapt.MessageV1{info}
	if field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{
			Field: field, Description: message, Reason: reason,
		}}})
	}
	if retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retry)})
	}
	s := status.New(code, message)
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s.Err()
}

// shorten shortens text to fit into a status, and makes it valid UTF-8, as protobuf requires.
func shorten(text string) string {
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

// shortenAll returns metadata with short values. It returns nil if there are none.
func shortenAll(metadata map[string]string) (short map[string]string) {
	for key, value := range metadata {
		if short == nil {
			short = map[string]string{}
		}
		short[key] = shorten(value)
	}
	return short
}

// Fault converts a status from a coordinator back to a fault. Other errors (of the network, a deadline, UNAVAILABLE)
// are returned as they are.
func Fault(err error) error {
	s, is := status.FromError(err)
	if err == nil || !is {
		return err
	}
	kind, known := kindOf(s.Code())
	if !known || kind == fault.Unavailable { // the code tells clients that they may retry
		return err
	}
	f := &fault.Error{Kind: kind, Message: s.Message()}
	switch info := infoOf(s); {
	case info != nil:
		f.Reason = info.GetReason()
		f.Metadata = info.GetMetadata()
	case kind == fault.ResourceExhausted && strings.Contains(s.Message(), "larger than max"):
		// gRPC rejects a message that is too large. Only messages with the spec of a job get that large.
		f.Reason = "MESSAGE_TOO_LARGE"
		f.Message = "the job's constraints, seeds, weights, labels and centroids together are too large for one " +
			"message: " + s.Message()
	default:
		return err
	}
	if violations := detailOf[*errdetails.BadRequest](s).GetFieldViolations(); len(violations) > 0 {
		f.Field = violations[0].GetField()
	}
	f.Retry = detailOf[*errdetails.RetryInfo](s).GetRetryDelay().AsDuration()
	return f
}

// Reason returns the reason that a coordinator gave for an error, or "" if it gave none.
func Reason(err error) string { return infoOf(status.Convert(err)).GetReason() }

// RetryDelay returns how long to wait before retrying. helps is false if the error does not say that retrying may
// help.
func RetryDelay(err error) (delay time.Duration, helps bool) {
	info := detailOf[*errdetails.RetryInfo](status.Convert(err))
	return info.GetRetryDelay().AsDuration(), info != nil
}

// ErrorProto converts a fault to a message, which is as short as a status.
func ErrorProto(f *fault.Error) *cleavev1.Error {
	return &cleavev1.Error{Code: int32(CodeOf(f.Kind)), Reason: f.Reason, Message: shorten(f.Message), Field: f.Field,
		Metadata: shortenAll(f.Metadata)}
}

// FaultOf is the inverse of ErrorProto. It returns nil for nil.
func FaultOf(p *cleavev1.Error) error {
	if p == nil {
		return nil
	}
	kind, known := kindOf(codes.Code(p.GetCode()))
	if !known {
		kind = fault.Internal
	}
	return &fault.Error{Kind: kind, Reason: p.GetReason(), Message: p.GetMessage(), Field: p.GetField(),
		Metadata: p.GetMetadata()}
}
