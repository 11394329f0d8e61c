package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// listen returns a listener that is closed when the test ends, and its address.
func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener, listener.Addr().String()
}

// serveGRPC serves a gRPC server until the test ends.
func serveGRPC(t *testing.T, server *grpc.Server) (address string) {
	t.Helper()
	listener, address := listen(t)
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	t.Cleanup(server.Stop)
	return address
}

// serveBanner serves another protocol until the test ends.
func serveBanner(t *testing.T) (address string) {
	t.Helper()
	listener, address := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")) //nolint:errcheck // the client sees the rest
			go func() {
				io.Copy(io.Discard, conn) //nolint:errcheck // until the client closes the connection
				conn.Close()
			}()
		}
	}()
	return address
}

// A server of another version, a server that is down, and a port of something else are told apart.
func TestWhatAnswers(t *testing.T) {
	down, downAddress := listen(t)
	down.Close()
	web, webAddress := listen(t)
	page := &http.Server{Handler: http.NotFoundHandler()} //nolint:gosec // a test
	go page.Serve(web)                                    //nolint:errcheck // it ends with Close
	t.Cleanup(func() { page.Close() })
	newer := grpc.NewServer()
	newer.RegisterService(&grpc.ServiceDesc{ServiceName: "cleave.v2.JobService", HandlerType: (*any)(nil)}, nil)
	reflection.Register(newer)
	foreign := grpc.NewServer()
	reflection.Register(foreign)
	older := grpc.NewServer()
	cleavev1.RegisterDatasetServiceServer(older, cleavev1.UnimplementedDatasetServiceServer{})
	reflection.Register(older)
	for _, c := range []struct {
		what, address, reason, says string
		code                        codes.Code
		temporary                   bool
	}{
		{"nobody", downAddress, NotReachable, "does not answer: dial tcp", codes.Unavailable, true},
		{"a web server", webAddress, NotCleave, "is not a Cleave coordinator", codes.FailedPrecondition, false},
		{"another protocol", serveBanner(t), NotCleave, "is not a Cleave coordinator", codes.FailedPrecondition, false},
		{"gRPC without reflection", serveGRPC(t, grpc.NewServer()), NotCleave, "is not a Cleave coordinator",
			codes.FailedPrecondition, false},
		{"gRPC of others", serveGRPC(t, foreign), NotCleave, "is not a Cleave coordinator",
			codes.FailedPrecondition, false},
		{"another API", serveGRPC(t, newer), OtherAPIVersion, "have different versions of the API",
			codes.FailedPrecondition, false},
		{"a service that is not there", serveGRPC(t, older), OtherAPIVersion, "have different versions of the API",
			codes.FailedPrecondition, false},
	} {
		client, err := Dial(c.address)
		if err != nil {
			t.Fatal(err)
		}
		_, unary := client.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "job"})
		_, stream := client.Labels(t.Context(), "job")
		for kind, err := range map[string]error{"call": unary, "stream": stream} {
			e, is := errors.AsType[*Error](err)
			if !is || e.Reason != c.reason || e.Code != c.code || e.Temporary() != c.temporary ||
				status.Code(err) != c.code || wire.Reason(err) != c.reason ||
				!strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, c.address) {
				t.Errorf("%s, %s: %+v", c.what, kind, err)
			}
		}
		client.Close()
	}
}

// An error has what the coordinator says, and is one of its causes, too.
func TestErrors(t *testing.T) {
	bad := fault.Invalid("BAD_K", "k is 9 but there are only 6 rows").OnField("spec.k").With("rows", "6")
	c, _ := connectTo(t, func(int32, grpc.ServerStream) error { return wire.Status(bad) })
	_, err := c.CreateJob(t.Context(), &cleavev1.CreateJobRequest{})
	e, is := errors.AsType[*Error](err)
	if !is || e.Code != codes.InvalidArgument || e.Reason != "BAD_K" || e.Field != "spec.k" ||
		e.Message != bad.Message || e.Metadata["rows"] != "6" || e.Temporary() {
		t.Errorf("%+v", err)
	}
	if status.Code(err) != codes.InvalidArgument || wire.Reason(err) != "BAD_K" || !fault.Is(err, "BAD_K") {
		t.Errorf("the status is %v", status.Convert(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Labels(ctx, "job"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if err := c.explain(ctx, nil); err != nil {
		t.Error(err)
	}
	other := errors.New("of others")
	if err := c.explain(ctx, other); err != other {
		t.Error(err)
	}
}

// The end of a job is final: the same request returns the same job.
func TestJobErrors(t *testing.T) {
	c, _ := connectTo(t, func(int32, grpc.ServerStream) error {
		return wire.Status(fault.New(fault.FailedPrecondition, "NO_RESULT", "none"))
	})
	failed := func(kind fault.Kind) *cleavev1.JobEnded {
		return &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_FAILED,
			Error: wire.ErrorProto(fault.New(kind, "WHY", "it failed"))}
	}
	canceled := func(reason cleavev1.StopReason) *cleavev1.JobEnded {
		return &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_CANCELLED, StopReason: reason, Message: "ended"}
	}
	for _, j := range []struct {
		ended  *cleavev1.JobEnded
		code   codes.Code
		reason string
	}{
		{failed(fault.InvalidArgument), codes.InvalidArgument, "WHY"},
		{failed(fault.Unavailable), codes.Internal, "WHY"},
		{&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_FAILED}, codes.Internal, "JOB_FAILED"},
		{canceled(cleavev1.StopReason_STOP_REASON_CANCELLED), codes.Canceled, JobCanceled},
		{canceled(cleavev1.StopReason_STOP_REASON_TIME_LIMIT), codes.DeadlineExceeded, TimeLimit},
		{nil, codes.Internal, BadAnswer},
		{&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_RUNNING}, codes.Internal, BadAnswer},
		{&cleavev1.JobEnded{State: 99}, codes.Internal, BadAnswer},
	} {
		e, is := errors.AsType[*Error](c.JobError(t.Context(), "job", j.ended))
		if !is || e.Code != j.code || e.Reason != j.reason || e.Temporary() || errors.Is(e, context.Canceled) {
			t.Errorf("%v: %+v", j.ended, e)
		}
	}
	if err := c.JobError(t.Context(), "job",
		&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_SUCCEEDED}); err != nil {
		t.Error(err)
	}
}

// While nobody knows whether a job has labels, the error is that of the call.
func TestJobErrorWithoutAnAnswer(t *testing.T) {
	ended := &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_CANCELLED,
		StopReason: cleavev1.StopReason_STOP_REASON_TIME_LIMIT, Message: "ended"}
	for want, answer := range map[string]func(grpc.ServerStream) error{
		"RESULT_DAMAGED": func(grpc.ServerStream) error {
			return wire.Status(fault.New(fault.DataLoss, "RESULT_DAMAGED", "it is damaged"))
		},
		TimeLimit: func(grpc.ServerStream) error {
			return wire.Status(fault.New(fault.NotFound, "JOB_NOT_FOUND", "it was deleted"))
		},
		LabelsSoFar: func(s grpc.ServerStream) error {
			return s.SendMsg(&cleavev1.GetResultResponse{Result: &cleavev1.Result{Rows: 4}})
		},
	} {
		c, _ := connectTo(t, func(_ int32, s grpc.ServerStream) error { return answer(s) })
		if err := c.JobError(t.Context(), "job", ended); wire.Reason(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Wait gets no event that came before: it needs the end only, and a long job has many.
func TestWaitGetsNoEarlierEvents(t *testing.T) {
	running := &cleavev1.Job{JobId: "job", State: cleavev1.JobState_JOB_STATE_RUNNING, LastSequence: 1000}
	succeeded := &cleavev1.Job{JobId: "job", State: cleavev1.JobState_JOB_STATE_SUCCEEDED}
	watches := 0
	c, _ := connectTo(t, func(_ int32, s grpc.ServerStream) error {
		if method, _ := grpc.Method(s.Context()); method == cleavev1.JobService_GetJob_FullMethodName {
			job := running
			if watches > 0 {
				job = succeeded
			}
			return s.SendMsg(&cleavev1.GetJobResponse{Job: job})
		}
		watches++
		request := &cleavev1.WatchJobRequest{}
		encoded, err := proto.Marshal(s.(requested).request)
		if err == nil {
			err = proto.Unmarshal(encoded, request)
		}
		if request.GetAfterSequence() != 1000 {
			t.Errorf("events after %d are wanted", request.GetAfterSequence())
		}
		return err
	})
	if job, err := c.Wait(t.Context(), "job"); err != nil || job.GetJobId() != "job" || watches != 1 {
		t.Errorf("%v, %v after %d watches", job, err, watches)
	}
}

// A fault stays an *Error where something wraps it, with the words of the whole.
func TestErrorsOfWrappedFaults(t *testing.T) {
	bad := fault.Invalid("BAD_K", "k is 9").OnField("spec.k")
	wrapped := fmt.Errorf("the second job: %w", bad)
	for says, err := range map[string]error{"k is 9": bad, "the second job: k is 9": wrapped} {
		e, is := errors.AsType[*Error](asError(err))
		if !is || e.Reason != "BAD_K" || e.Field != "spec.k" || e.Message != says || !errors.Is(e, err) ||
			status.Convert(e).Message() != says {
			t.Errorf("%v is %#v", err, e)
		}
	}
}

// The question what is at an address ends with the call that asks.
func TestTheExplanationEndsWithTheCall(t *testing.T) {
	asked := make(chan struct{})
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.Method(stream.Context()); strings.HasPrefix(method, "/cleave.") {
			return status.Error(codes.Unimplemented, "unknown method")
		}
		close(asked)
		<-stream.Context().Done()
		return nil
	}))
	c, err := Dial(serveGRPC(t, server))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var canceled time.Time
	go func() {
		<-asked
		canceled = time.Now()
		cancel()
	}()
	_, err = c.CreateJob(ctx, &cleavev1.CreateJobRequest{})
	if took := time.Since(canceled); err == nil || took > servicesTimeout/2 {
		t.Errorf("%v, %v after the end of the context", err, took)
	}
}

func TestDialSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		addresses string
		options   []Option
		says      string
	}{
		{"", nil, "is not an address of a coordinator"},
		{"192.0.2.1:7400", nil, "give WithTLS or WithCA (cleave certs init makes them), or WithoutEncryption"},
		{"192.0.2.1:7400", []Option{WithoutEncryption(), WithToken("x")}, "without encryption"},
		{"localhost:7400", []Option{WithCA("no-such-file.pem")}, "no-such-file.pem"},
	} {
		_, err := Dial(c.addresses, c.options...)
		if e, is := errors.AsType[*Error](err); !is || e.Code != codes.InvalidArgument ||
			!strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "--") {
			t.Errorf("%q: %v", c.addresses, err)
		}
	}
}

// Messages about connections name the options of Dial, or flags where the command line asks for them.
func TestConnectionErrorsNameOptions(t *testing.T) {
	for cause, option := range map[string]string{
		"remote error: tls: certificate required": "give WithCertificate",
		"error reading server preface: EOF":       "give WithTLS, or WithCA",
	} {
		for flags, says := range map[bool]string{false: option, true: "give --tls"} {
			with := []Option{}
			if flags {
				with = append(with, func(s *settings) { s.Dial.Terms = credentials.FlagTerms() })
			}
			c, err := Dial("localhost:1", with...)
			if err != nil {
				t.Fatal(err)
			}
			e, is := errors.AsType[*Error](c.explain(t.Context(), status.Error(codes.Unavailable, cause)))
			if !is || e.Reason != HandshakeFailed || e.Code != codes.FailedPrecondition || e.Temporary() ||
				status.Code(e) != e.Code ||
				!strings.Contains(e.Message, says) ||
				strings.Contains(e.Message, "--") != flags {
				t.Errorf("%s: %v", cause, e)
			}
			c.Close()
		}
	}
}
