package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// cutOff has the streams of coordinators of which one cannot be connected to: its machine drops all packets. The
// others have a watch of a job that has succeeded.
type cutOff struct {
	silent string       // the address of that machine
	lost   atomic.Int32 // calls to it
}

func (c *cutOff) open(ctx context.Context, _ *grpc.StreamDesc, to *grpc.ClientConn, _ string, _ grpc.Streamer,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	if to.Target() == c.silent {
		c.lost.Add(1)
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return succeeded{}, nil
}

// succeeded is endedStream on a connection.
type succeeded struct{ grpc.ClientStream }

func (succeeded) SendMsg(any) error { return nil }

func (succeeded) CloseSend() error { return nil }

func (succeeded) RecvMsg(m any) error {
	item, err := endedStream{}.Recv()
	proto.Merge(m.(proto.Message), item)
	return err
}

// endedStream is a watch of a job that has succeeded.
type endedStream struct {
	grpc.ServerStreamingClient[cleavev1.WatchJobResponse]
}

func (endedStream) Recv() (*cleavev1.WatchJobResponse, error) {
	ended := &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_SUCCEEDED}
	return &cleavev1.WatchJobResponse{
		Item: &cleavev1.WatchJobResponse_Event{
			Event: &cleavev1.Event{Sequence: 1, What: &cleavev1.Event_Ended{Ended: ended}}}}, nil
}

// Watches that cannot connect go on with another coordinator, where the later of them find the first; they end with the
// context of their caller, and only with that.
func TestAWatchLeavesACoordinatorThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := &cutOff{}
		c, err := Dial("127.0.0.1:1,127.0.0.1:2", WithGRPC(grpc.WithChainStreamInterceptor(streams.open)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		first, _, err := c.leader.choose()
		if err != nil {
			t.Fatal(err)
		}
		all := func(*cleavev1.WatchJobResponse) bool { return true }
		streams.silent = first
		var watches sync.WaitGroup
		for range 2 {
			watches.Go(func() {
				if ended, err := c.watch(t.Context(), "job", 0, c.leader.warn, all); err != nil ||
					ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
					t.Errorf("the watch ended with %v, %v", ended, err)
				}
			})
			time.Sleep(time.Second)
		}
		watches.Wait()
		now, _, err := c.leader.choose()
		if err != nil || now == first || streams.lost.Load() != 2 {
			t.Errorf("the client calls %s, %v, and called %s %d times", now, err, first, streams.lost.Load())
		}
		streams.silent = now
		ctx, cancel := context.WithTimeout(t.Context(), silenceTimeout/2)
		defer cancel()
		if _, err := c.watch(ctx, "job", 0, c.leader.warn, all); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a watch whose time is over ended with %v", err)
		}
	})
}

// steady are the jobs of a coordinator that never breaks a stream: a watch gets five events and the end.
type steady struct {
	cleavev1.JobServiceClient
	watches int
}

func (j *steady) WatchJob(ctx context.Context, request *cleavev1.WatchJobRequest,
	_ ...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.WatchJobResponse], error) {
	j.watches++
	return &steadyStream{ctx: ctx, sent: request.GetAfterSequence()}, nil
}

type steadyStream struct {
	endedStream
	ctx  context.Context
	sent uint32
}

func (s *steadyStream) Recv() (*cleavev1.WatchJobResponse, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if s.sent++; s.sent > 5 {
		return s.endedStream.Recv()
	}
	return &cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: &cleavev1.Event{Sequence: s.sent}}},
		nil
}

// A loop may take as long as it likes for each event. The coordinator is not silent meanwhile.
func TestAWatchWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warned := func(format string, args ...any) { t.Errorf("the client warns: %s", fmt.Sprintf(format, args...)) }
		c, err := Dial("127.0.0.1:1,127.0.0.1:2", WithWarnings(warned))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		jobs := &steady{}
		c.Jobs = jobs
		events := 0
		for _, err := range c.Follow(t.Context(), "job", 0) {
			if err != nil {
				t.Fatal(err)
			}
			events++
			time.Sleep(reconnectTimeout + silenceTimeout)
		}
		if events != 6 || jobs.watches != 1 {
			t.Errorf("%d events of %d watches, want 6 of one", events, jobs.watches)
		}
	})
}

// cut are the jobs of a coordinator behind a proxy that ends every watch at once.
type cut struct{ cleavev1.JobServiceClient }

func (cut) WatchJob(context.Context, *cleavev1.WatchJobRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.WatchJobResponse], error) {
	return cutStream{}, nil
}

func (cut) GetJob(context.Context, *cleavev1.GetJobRequest, ...grpc.CallOption) (*cleavev1.GetJobResponse, error) {
	return &cleavev1.GetJobResponse{Job: &cleavev1.Job{State: cleavev1.JobState_JOB_STATE_RUNNING}}, nil
}

type cutStream struct {
	grpc.ServerStreamingClient[cleavev1.WatchJobResponse]
}

func (cutStream) Recv() (*cleavev1.WatchJobResponse, error) { return nil, io.EOF }

// The error of a watch that ends again and again before its job says why.
func TestAWatchThatIsCutSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Dial("127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Jobs = cut{}
		_, err = c.Watch(t.Context(), "job", 0, nobody{})
		if err == nil || !strings.HasSuffix(err.Error(), ": the stream ended before the job") {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// A watch that cannot connect says which job it was about, and why.
func TestAWatchOfAClosedPortNamesItsJob(t *testing.T) {
	closed, address := listen(t)
	closed.Close()
	c, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Wait(t.Context(), "job-7")
	e, is := errors.AsType[*Error](err)
	if !is || e.Reason != WatchLost || e.Code != codes.Unavailable || e.Metadata["job_id"] != "job-7" ||
		!e.Temporary() || !fault.Is(err, WatchLost) {
		t.Fatalf("the watch ended with %+v", err)
	}
	for _, says := range []string{"job job-7", "may still be running", address, "connection refused"} {
		if !strings.Contains(e.Message, says) {
			t.Errorf("%q does not say %q", e.Message, says)
		}
	}
	if cause, is := errors.AsType[*Error](e.cause); !is || cause.Reason != NotReachable {
		t.Errorf("the cause is %+v", e.cause)
	}
	if s := status.Convert(err); s.Code() != e.Code || s.Message() != e.Message || wire.Reason(err) != WatchLost {
		t.Errorf("the status is %v", s)
	}
}
