package wire

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

func TestFaultsSurviveTheWire(t *testing.T) {
	for kind := fault.InvalidArgument; kind <= fault.Internal; kind++ {
		sent := fault.New(kind, "SOME_REASON", "row %d is bad", 3).OnField("spec.k").With("row", "3")
		err := Status(fmt.Errorf("%w", sent))
		if got := status.Code(err); got != CodeOf(kind) || got == codes.OK || got == codes.Unknown {
			t.Errorf("kind %d has code %v", kind, got)
		}
		if got := Fault(err); !reflect.DeepEqual(got, error(sent)) {
			t.Errorf("kind %d: got %#v, want %#v", kind, got, sent)
		}
	}
}

func TestStatusCodes(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{context.Canceled, codes.Canceled, "CALL_CANCELLED"},
		{fmt.Errorf("reading: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
		{io.ErrUnexpectedEOF, codes.Internal, "INTERNAL"},
		{fault.Wrap(fault.Invalid("NOT_FINITE", "row 2 is NaN"), "a.csv"), codes.InvalidArgument, "NOT_FINITE"},
		{Unavailable("SHUTTING_DOWN", "later"), codes.Unavailable, "SHUTTING_DOWN"},
		{status.Error(codes.Aborted, "as it is"), codes.Aborted, ""},
	} {
		s := status.Convert(Status(c.err))
		if s.Code() != c.code {
			t.Errorf("%v: code %v, want %v", c.err, s.Code(), c.code)
		}
		reason := ""
		for _, d := range s.Details() {
			if info, is := d.(*errdetails.ErrorInfo); is {
				reason = info.GetReason()
			}
		}
		if reason != c.reason {
			t.Errorf("%v: reason %q, want %q", c.err, reason, c.reason)
		}
	}
	if Status(nil) != nil || Fault(nil) != nil {
		t.Error("no error became one")
	}
}

func TestFaultLeavesForeignErrorsAlone(t *testing.T) {
	for _, err := range []error{
		io.EOF, status.Error(codes.InvalidArgument, "not ours"), Unavailable("X", "y"),
		status.Error(codes.ResourceExhausted, "too many requests"),
	} {
		if got := Fault(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// What an error says is found also behind what a proxy says.
func TestDetailsOfAProxy(t *testing.T) {
	s, err := status.New(codes.Unavailable, "elsewhere").WithDetails(&errdetails.ErrorInfo{Reason: "UPSTREAM",
		Domain: "proxy.example"},
		&errdetails.ErrorInfo{Reason: NotLeader, Domain: Domain, Metadata: map[string]string{LeaderKey: "b:7400"}})
	if err != nil {
		t.Fatal(err)
	}
	if address, is := LeaderOf(s.Err()); !is || address != "b:7400" {
		t.Errorf("the leader is %q, %v", address, is)
	}
}

func TestStatusTextIsBounded(t *testing.T) {
	long := strings.Repeat("é", 5000) + "\xff"
	s := status.Convert(Status(fault.Invalid("LONG", "%s", long).With("why", long).OnField("f")))
	if len(s.Message()) > maxStatusText+4 || !strings.HasSuffix(s.Message(), "…") {
		t.Errorf("the message has %d bytes", len(s.Message()))
	}
	if len(s.Details()) != 2 {
		t.Errorf("details are lost: %v", s.Details())
	}
	// The error of a job has to fit into a transaction and a notification.
	if stored := ErrorProto(fault.Invalid("LONG", "%s", long).With("why", long)); proto.Size(stored) > 3*maxStatusText {
		t.Errorf("the error of a job has %d bytes", proto.Size(stored))
	}
}

func TestFaultsInMessages(t *testing.T) {
	if err := FaultOf(nil); err != nil {
		t.Errorf("a job that did not fail has fault %v", err)
	}
	want := fault.Invalid("ZERO_DEGREE", "vertex 3 has no edges").OnField("spec.dataset_id").With("vertex", "3")
	if err := FaultOf(ErrorProto(want)); !reflect.DeepEqual(err, error(want)) {
		t.Errorf("got %#v", err)
	}
	if err := FaultOf(&cleavev1.Error{Code: 99, Reason: "NEW", Message: "of a later version"}); !fault.Is(err, "NEW") {
		t.Errorf("got %#v", err)
	}
	broken := fault.Invalid("BROKEN", "\xff").With("key", "\xfd")
	if _, err := proto.Marshal(ErrorProto(broken)); err != nil {
		t.Errorf("text that is not UTF-8 cannot be sent: %v", err)
	}
}

// When gRPC refuses a message because of its size, the user can do something about it.
func TestFaultOfATooLargeMessage(t *testing.T) {
	err := Fault(status.Error(codes.ResourceExhausted,
		"trying to send message larger than max (93137252 vs. 67108864)"))
	if !fault.Is(err, "MESSAGE_TOO_LARGE") || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("got %v", err)
	}
}
