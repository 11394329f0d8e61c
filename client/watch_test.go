package client

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// overJobs are the jobs of a coordinator on which every job has ended, and no event is new.
type overJobs struct {
	cleavev1.JobServiceClient
	job *cleavev1.Job
}

func (overJobs) WatchJob(context.Context, *cleavev1.WatchJobRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.WatchJobResponse], error) {
	return overStream{}, nil
}

func (o overJobs) GetJob(context.Context, *cleavev1.GetJobRequest,
	...grpc.CallOption) (*cleavev1.GetJobResponse, error) {
	return &cleavev1.GetJobResponse{Job: o.job}, nil
}

// overStream has no item.
type overStream struct {
	grpc.ServerStreamingClient[cleavev1.WatchJobResponse]
}

func (overStream) Recv() (*cleavev1.WatchJobResponse, error) { return nil, io.EOF }

// nobody is a Watcher of a job of which only the end matters.
type nobody struct{}

func (nobody) Item(*cleavev1.WatchJobResponse) {}
func (nobody) Warn(string, ...any)             {}

// failing is a Watcher that expects nothing.
type failing struct {
	nobody
	t *testing.T
}

func (f failing) Item(item *cleavev1.WatchJobResponse) { f.t.Errorf("took %v", item) }

// A watch after the last event of a job says how the job ended, although there is nothing to take.
func TestAWatchAfterTheLastEvent(t *testing.T) {
	c, err := Dial("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Jobs = overJobs{job: &cleavev1.Job{State: cleavev1.JobState_JOB_STATE_CANCELLED,
		StopReason: cleavev1.StopReason_STOP_REASON_TIME_LIMIT, StatusMessage: "stopped"}}
	ended, err := c.Watch(t.Context(), "job", 9, failing{t: t})
	if err != nil || ended.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		ended.GetStopReason() != cleavev1.StopReason_STOP_REASON_TIME_LIMIT || ended.GetMessage() != "stopped" {
		t.Errorf("the job ended with %v, %v", ended, err)
	}
	for item, err := range c.Follow(t.Context(), "job", 9) {
		t.Errorf("followed %v, %v", item, err)
	}
}
