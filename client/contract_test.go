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
	contractScript  // of the only server, unless there are Servers
	Servers         []contractScript
	Given           []int
	Name, Call      string
	Job, StopReason string
	Failure, Error  *contractError
	Result          struct {
		Rows  uint32
		Error *contractError
	}
	Arrived        *uint32
	Events, Labels []uint32
}

// contractScript is what one server does, and how it is called.
type contractScript struct {
	Server       string
	Answers      []contractAnswer
	Calls        int
	After, First []uint32
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
	Leader              *int
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

// status returns the error as a server sends it, or nil for nil. addresses are those of all servers of the case.
func (e *contractError) status(addresses []string) error {
	switch {
	case e == nil:
		return nil
	case e.Reason == "":
		return status.Error(codeNamed(e.Code), "not now")
	case e.Leader != nil:
		return wire.Status(e.fault().With(wire.LeaderKey, addresses[*e.Leader]))
	}
	return wire.Status(e.fault())
}

// contractServer plays the part of one server of a case.
type contractServer struct {
	contractCase
	addresses    []string // of all servers of the case
	mu           sync.Mutex
	asked        string // the ID of the data set that the client has
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
			return &cleavev1.GetResultResponse{Result: &cleavev1.Result{Rows: s.Result.Rows}},
				s.Result.Error.status(nil)
		})
	case "CreateJob":
		request := &cleavev1.CreateJobRequest{}
		return answerCall(stream, request, func() (proto.Message, error) {
			answer := s.next(method, func() { s.requestIDs = append(s.requestIDs, request.GetRequestId()) })
			return &cleavev1.CreateJobResponse{Job: s.job()}, answer.Error.status(s.addresses)
		})
	case "WatchJob":
		return s.watch(stream)
	case "GetLabels":
		return s.labels(stream)
	case "GetDataset":
		request := &cleavev1.GetDatasetRequest{}
		return answerCall(stream, request, func() (proto.Message, error) {
			s.asked = request.GetDatasetId()
			return nil, wire.Status(fault.New(fault.NotFound, "DATASET_NOT_FOUND", "there is no such data set"))
		})
	case "GetUpload":
		return answerCall(stream, &cleavev1.GetUploadRequest{}, func() (proto.Message, error) {
			if s.Arrived == nil {
				return nil, wire.Status(fault.New(fault.NotFound, "UPLOAD_NOT_FOUND", "there is no such upload"))
			}
			return &cleavev1.GetUploadResponse{Parts: *s.Arrived}, nil
		})
	case "CreateDataset":
		return s.upload(stream)
	}
	return answerCall(stream, &cleavev1.CancelJobRequest{}, func() (proto.Message, error) {
		return &cleavev1.CancelJobResponse{Job: s.job()}, s.next(method, func() {}).Error.status(s.addresses)
	})
}

func (s *contractServer) upload(stream grpc.ServerStream) error {
	header := &cleavev1.CreateDatasetRequest{}
	if err := stream.RecvMsg(header); err != nil {
		return err
	}
	for stream.RecvMsg(&cleavev1.CreateDatasetRequest{}) == nil {
	}
	answer := s.next("UploadGraph", func() { s.first = append(s.first, header.GetHeader().GetFirstPart()) })
	if answer.Error != nil {
		return answer.Error.status(s.addresses)
	}
	return stream.SendMsg(&cleavev1.CreateDatasetResponse{Dataset: &cleavev1.Dataset{DatasetId: s.asked}})
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
	return answer.Error.status(s.addresses)
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
	return answer.Error.status(s.addresses)
}

// start starts the server, and returns its address and what the client needs to connect.
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
func (s contractCase) call(ctx context.Context, client *Client) (events, labels []uint32, err error) {
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
	case "UploadGraph":
		_, err = client.UploadGraph(ctx, "", 0, []Edge{{Source: 0, Target: 1}, {Source: 1, Target: 2}})
	case "Wait":
		_, err = client.Wait(ctx, "job")
	default:
		err = fmt.Errorf("there is no call %s", s.Call)
	}
	return events, labels, err
}

// playAll starts the servers of a case, and returns a client of those that it is given.
func playAll(t *testing.T, c contractCase) (servers []*contractServer, client *Client) {
	t.Helper()
	addresses := make([]string, len(c.Servers))
	var options []Option
	for at, script := range c.Servers {
		s := &contractServer{contractCase: c, addresses: addresses}
		s.contractScript = script
		address, needed := s.start(t)
		addresses[at] = address
		options = append(options, needed...)
		servers = append(servers, s)
	}
	given := addresses
	if c.Given != nil {
		given = nil
		for _, at := range c.Given {
			given = append(given, addresses[at])
		}
	}
	client, err := Dial(strings.Join(given, ","), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return servers, client
}

// The client does what docs/CLIENT-CONTRACT.md promises for all clients.
func TestContract(t *testing.T) {
	t.Parallel() // one case waits for a server that is silent
	for _, c := range readContract(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Servers == nil {
				c.Servers = []contractScript{c.contractScript}
			}
			servers, client := playAll(t, c)
			events, labels, err := c.call(t.Context(), client)
			var requestIDs []string
			for at, s := range servers {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.calls != s.Calls || !slices.Equal(s.after, s.After) || !slices.Equal(s.first, s.First) {
					t.Errorf("server %d: %d calls, after the events %v, from %v", at, s.calls, s.after, s.first)
				}
				requestIDs = append(requestIDs, s.requestIDs...)
			}
			if !slices.Equal(events, c.Events) || !slices.Equal(labels, c.Labels) {
				t.Errorf("events %v, labels %v", events, labels)
			}
			if ids := slices.Compact(requestIDs); c.Call == "CreateJob" && (len(ids) != 1 || ids[0] == "") {
				t.Errorf("request ids %q", requestIDs)
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
