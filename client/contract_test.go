package client

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// contractCase is a case of test/clients/contract.json, which says what the fields mean.
type contractCase struct {
	Name, Call, Job string
	Answers         []struct {
		Events []uint32
		Ended  bool
		Error  *contractError
	}
	Calls         int
	After, Events []uint32
	Error         *contractError
}

type contractError struct {
	Code, Reason, Field string
	RetryAfter          float64 // seconds
}

// contractKinds are the kinds of the codes in the contract.
var contractKinds = map[string]fault.Kind{
	"INVALID_ARGUMENT": fault.InvalidArgument, "NOT_FOUND": fault.NotFound, "INTERNAL": fault.Internal,
	"RESOURCE_EXHAUSTED": fault.ResourceExhausted, "UNAVAILABLE": fault.Unavailable,
}

func (e *contractError) code() codes.Code { return wire.CodeOf(contractKinds[e.Code]) }

// status returns the error as a server sends it, or nil for nil.
func (e *contractError) status() error {
	if e == nil {
		return nil
	}
	if e.Reason == "" {
		return status.Error(e.code(), "not now")
	}
	wait := time.Duration(e.RetryAfter * float64(time.Second))
	return wire.Status(fault.New(contractKinds[e.Code], e.Reason, "not now").OnField(e.Field).RetryIn(wait))
}

// contractServer plays a case.
type contractServer struct {
	contractCase
	mu         sync.Mutex
	calls      int
	after      []uint32
	requestIDs []string
}

func (s *contractServer) serve(_ any, stream grpc.ServerStream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	method, _ := grpc.Method(stream.Context())
	state := cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+s.Job])
	job := &cleavev1.Job{JobId: "job", State: state}
	if path.Base(method) == "GetJob" {
		if err := stream.RecvMsg(&cleavev1.GetJobRequest{}); err != nil {
			return err
		}
		return stream.SendMsg(&cleavev1.GetJobResponse{Job: job})
	}
	if path.Base(method) != s.Call || s.calls == len(s.Answers) {
		s.calls++
		return status.Errorf(codes.Internal, "call %d, of %s, is not in the script", s.calls, method)
	}
	answer := s.Answers[s.calls]
	s.calls++
	var response proto.Message
	switch s.Call {
	case "CancelJob":
		if err := stream.RecvMsg(&cleavev1.CancelJobRequest{}); err != nil {
			return err
		}
		response = &cleavev1.CancelJobResponse{Job: job}
	case "CreateJob":
		request := &cleavev1.CreateJobRequest{}
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		s.requestIDs = append(s.requestIDs, request.GetRequestId())
		response = &cleavev1.CreateJobResponse{Job: job}
	case "WatchJob":
		request := &cleavev1.WatchJobRequest{}
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		s.after = append(s.after, request.GetAfterSequence())
		for at, sequence := range answer.Events {
			event := &cleavev1.Event{Sequence: sequence}
			if answer.Ended && at == len(answer.Events)-1 {
				event.What = &cleavev1.Event_Ended{Ended: &cleavev1.JobEnded{
					State: cleavev1.JobState_JOB_STATE_SUCCEEDED}}
			}
			item := &cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: event}}
			if err := stream.SendMsg(item); err != nil {
				return err
			}
		}
		return answer.Error.status()
	}
	if answer.Error != nil {
		return answer.Error.status()
	}
	return stream.SendMsg(response)
}

// The client does what docs/CLIENT-CONTRACT.md promises for all clients.
func TestContract(t *testing.T) {
	content, err := os.ReadFile("../test/clients/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct{ Cases []contractCase }
	if err := json.Unmarshal(content, &contract); err != nil {
		t.Fatal(err)
	}
	if len(contract.Cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, c := range contract.Cases {
		t.Run(c.Name, func(t *testing.T) {
			script := &contractServer{contractCase: c}
			server := grpc.NewServer(grpc.UnknownServiceHandler(script.serve))
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go server.Serve(listener) //nolint:errcheck // it ends with Stop
			defer server.Stop()
			client, err := Dial(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			checkContract(t, client, script)
		})
	}
}

// checkContract makes the call of a case and checks what came of it.
func checkContract(t *testing.T, client *Client, script *contractServer) {
	var events []uint32
	var err error
	switch script.Call {
	case "CancelJob":
		_, err = client.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
	case "CreateJob":
		_, err = client.CreateJob(t.Context(), &cleavev1.CreateJobRequest{})
	case "WatchJob":
		for item, failed := range client.Follow(t.Context(), "job", 0) {
			if failed != nil {
				err = failed
				break
			}
			events = append(events, item.GetEvent().GetSequence())
		}
	}
	script.mu.Lock()
	defer script.mu.Unlock()
	if script.calls != script.Calls || !slices.Equal(script.after, script.After) {
		t.Errorf("%d calls, after the events %v", script.calls, script.after)
	}
	if !slices.Equal(events, script.Events) {
		t.Errorf("events %v", events)
	}
	if ids := slices.Compact(script.requestIDs); script.Call == "CreateJob" && (len(ids) != 1 || ids[0] == "") {
		t.Errorf("request ids %q", script.requestIDs)
	}
	if script.Error == nil {
		if err != nil {
			t.Errorf("the call fails: %v", err)
		}
		return
	}
	want := script.Error
	if e, is := errors.AsType[*Error](err); !is || e.Code != want.code() || e.Reason != want.Reason ||
		e.Field != want.Field {
		t.Errorf("the call ends with %#v", err)
	}
}
