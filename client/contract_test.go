package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// contract is test/clients/contract.json, which says what the fields mean.
type contract struct {
	Reasons []struct {
		Reason, Code string
		Temporary    bool
	}
	Cases []contractCase
}

type contractCase struct {
	Name, Call, Server string
	Job, StopReason    string
	Answers            []contractAnswer
	Failure, Error     *contractError
	Result             struct {
		Rows  uint32
		Error *contractError
	}
	Calls                        int
	After, Events, First, Labels []uint32
}

type contractAnswer struct {
	Events        []uint32
	Ended, Silent bool
	Parts         []struct {
		First  uint32
		Labels []uint32
	}
	Error *contractError
}

type contractError struct {
	Code, Reason, Field string
	RetryAfter          float64 // seconds
	Temporary           bool
}

func readContract(t *testing.T) (c contract) {
	t.Helper()
	content, err := os.ReadFile("../test/clients/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Cases) == 0 || len(c.Reasons) == 0 {
		t.Fatal("there are no cases, or no reasons")
	}
	return c
}

func codeNamed(name string) (code codes.Code) {
	if err := code.UnmarshalJSON([]byte(`"` + name + `"`)); err != nil {
		panic(err)
	}
	return code
}

// fault returns the error as it is inside a server, or nil for nil.
func (e *contractError) fault() *fault.Error {
	if e == nil {
		return nil
	}
	wait := time.Duration(e.RetryAfter * float64(time.Second))
	for kind := fault.InvalidArgument; kind <= fault.PermissionDenied; kind++ {
		if wire.CodeOf(kind) == codeNamed(e.Code) {
			return fault.New(kind, e.Reason, "not now").OnField(e.Field).RetryIn(wait)
		}
	}
	panic(e.Code)
}

// status returns the error as a server sends it, or nil for nil.
func (e *contractError) status() error {
	switch {
	case e == nil:
		return nil
	case e.Reason == "":
		return status.Error(codeNamed(e.Code), "not now")
	}
	return wire.Status(e.fault())
}

// contractServer plays a case.
type contractServer struct {
	contractCase
	mu           sync.Mutex
	calls        int
	after, first []uint32
	requestIDs   []string
}

// next returns the answer to the next call, of which it takes note.
func (s *contractServer) next(method string, note func()) contractAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	note()
	s.calls++
	if method != s.Call || s.calls > len(s.Answers) {
		return contractAnswer{Error: &contractError{Code: "INTERNAL", Reason: "NOT_IN_THE_SCRIPT"}}
	}
	return s.Answers[s.calls-1]
}

// job returns the job of a case.
func (s *contractServer) job() *cleavev1.Job {
	job := &cleavev1.Job{JobId: "job", State: cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+s.Job]),
		StopReason: cleavev1.StopReason(cleavev1.StopReason_value["STOP_REASON_"+s.StopReason]), StatusMessage: "ended"}
	if s.Failure != nil {
		job.Error = wire.ErrorProto(s.Failure.fault())
	}
	return job
}

func (s *contractServer) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.Method(stream.Context())
	switch method = path.Base(method); method {
	case "GetJob":
		return answerCall(stream, &cleavev1.GetJobRequest{}, func() (proto.Message, error) {
			return &cleavev1.GetJobResponse{Job: s.job()}, nil
		})
	case "GetResult":
		return answerCall(stream, &cleavev1.GetResultRequest{}, func() (proto.Message, error) {
			return &cleavev1.GetResultResponse{Result: &cleavev1.Result{Rows: s.Result.Rows}}, s.Result.Error.status()
		})
	case "CreateJob":
		request := &cleavev1.CreateJobRequest{}
		return answerCall(stream, request, func() (proto.Message, error) {
			answer := s.next(method, func() { s.requestIDs = append(s.requestIDs, request.GetRequestId()) })
			return &cleavev1.CreateJobResponse{Job: s.job()}, answer.Error.status()
		})
	case "WatchJob":
		return s.watch(stream)
	case "GetLabels":
		return s.labels(stream)
	}
	return answerCall(stream, &cleavev1.CancelJobRequest{}, func() (proto.Message, error) {
		return &cleavev1.CancelJobResponse{Job: s.job()}, s.next(method, func() {}).Error.status()
	})
}

// answerCall answers a call that has one response.
func answerCall(stream grpc.ServerStream, request proto.Message, answer func() (proto.Message, error)) error {
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	response, err := answer()
	if err != nil {
		return err
	}
	return stream.SendMsg(response)
}

func (s *contractServer) watch(stream grpc.ServerStream) error {
	request := &cleavev1.WatchJobRequest{}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	answer := s.next("WatchJob", func() { s.after = append(s.after, request.GetAfterSequence()) })
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
	if answer.Silent {
		<-stream.Context().Done()
	}
	return answer.Error.status()
}

func (s *contractServer) labels(stream grpc.ServerStream) error {
	request := &cleavev1.GetLabelsRequest{}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	answer := s.next("GetLabels", func() { s.first = append(s.first, request.GetFirstIndex()) })
	for _, part := range answer.Parts {
		if err := stream.SendMsg(&cleavev1.GetLabelsResponse{FirstIndex: part.First, Labels: part.Labels}); err != nil {
			return err
		}
	}
	return answer.Error.status()
}

// start starts the server of a case, and returns its address and what the client needs to connect.
func (s *contractServer) start(t *testing.T) (address string, options []Option) {
	switch s.Server {
	case "":
		server := grpc.NewServer(grpc.UnknownServiceHandler(s.serve))
		server.RegisterService(&grpc.ServiceDesc{ServiceName: "cleave.v1.JobService", HandlerType: (*any)(nil)}, nil)
		reflection.Register(server)
		return serveGRPC(t, server), nil
	case "NONE":
		closed, address := listen(t)
		closed.Close()
		return address, nil
	case "OTHER":
		return serveBanner(t), nil
	case "OTHER_API":
		server := grpc.NewServer()
		server.RegisterService(&grpc.ServiceDesc{ServiceName: "cleave.v2.JobService", HandlerType: (*any)(nil)}, nil)
		reflection.Register(server)
		return serveGRPC(t, server), nil
	case "UNTRUSTED":
		server := httptest.NewUnstartedServer(nil)
		server.EnableHTTP2 = true // as gRPC asks for
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.Listener.Addr().String(), []Option{WithCA("system")}
	}
	t.Fatalf("there is no server %s", s.Server)
	return "", nil
}

// call makes the call of a case, and returns the events and labels that the caller got.
func (s *contractServer) call(ctx context.Context, client *Client) (events, labels []uint32, err error) {
	switch s.Call {
	case "CancelJob":
		_, err = client.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: "job"})
	case "CreateJob":
		_, err = client.CreateJob(ctx, &cleavev1.CreateJobRequest{})
	case "WatchJob":
		for item, failed := range client.Follow(ctx, "job", 0) {
			if failed != nil {
				return events, nil, failed
			}
			events = append(events, item.GetEvent().GetSequence())
		}
	case "GetLabels":
		if labels, err = client.Labels(ctx, "job"); err != nil {
			labels = nil
		}
	case "Wait":
		_, err = client.Wait(ctx, "job")
	default:
		err = fmt.Errorf("there is no call %s", s.Call)
	}
	return events, labels, err
}

// The client does what docs/CLIENT-CONTRACT.md promises for all clients.
func TestContract(t *testing.T) {
	t.Parallel() // one case waits for a server that is silent
	for _, c := range readContract(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			script := &contractServer{contractCase: c}
			address, options := script.start(t)
			client, err := Dial(address, options...)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			events, labels, err := script.call(t.Context(), client)
			script.mu.Lock()
			defer script.mu.Unlock()
			if script.calls != c.Calls || !slices.Equal(script.after, c.After) ||
				!slices.Equal(script.first, c.First) {
				t.Errorf("%d calls, after the events %v, from the rows %v", script.calls, script.after, script.first)
			}
			if !slices.Equal(events, c.Events) || !slices.Equal(labels, c.Labels) {
				t.Errorf("events %v, labels %v", events, labels)
			}
			if ids := slices.Compact(script.requestIDs); c.Call == "CreateJob" && (len(ids) != 1 || ids[0] == "") {
				t.Errorf("request ids %q", script.requestIDs)
			}
			c.Error.check(t, err)
		})
	}
}

// check checks the error that a caller got. No error is expected if e is nil.
func (e *contractError) check(t *testing.T, err error) {
	t.Helper()
	if e == nil {
		if err != nil {
			t.Errorf("the call fails: %v", err)
		}
		return
	}
	got, is := errors.AsType[*Error](err)
	if !is || got.Code != codeNamed(e.Code) || got.Reason != e.Reason || got.Field != e.Field ||
		got.Temporary() != e.Temporary {
		t.Errorf("the call ends with %#v", err)
	}
	if said := status.Convert(err); said.Code() != codeNamed(e.Code) || wire.Reason(err) != e.Reason {
		t.Errorf("the status is %v", said)
	}
}

// The contract, its cases and the document have the same reasons, and each has a case.
func TestContractHasEveryReason(t *testing.T) {
	c := readContract(t)
	document, err := os.ReadFile("../docs/CLIENT-CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Reasons {
		temporary := map[bool]string{true: "yes", false: "no"}[r.Temporary]
		if row := fmt.Sprintf("| `%s` | `%s` | %s |", r.Reason, r.Code, temporary); !strings.Contains(string(document),
			row) {
			t.Errorf("the document does not say %s", row)
		}
		played := slices.ContainsFunc(c.Cases, func(c contractCase) bool {
			return c.Error != nil && c.Error.Reason == r.Reason && c.Error.Code == r.Code &&
				c.Error.Temporary == r.Temporary
		})
		if !played && r.Reason != UploadDamaged { // which a client that does not compute IDs cannot find
			t.Errorf("no case ends with %s", r.Reason)
		}
	}
}
