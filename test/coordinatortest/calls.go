package coordinatortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
)

// Upload uploads four points on a line.
func (c *Clients) Upload() string {
	c.T.Helper()
	points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
	if err != nil {
		c.T.Fatal(err)
	}
	return c.Send("line", points)
}

// Points uploads n points.
func (c *Clients) Points(n int) string {
	c.T.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	points, err := dataset.NewPoints(n, 1, values)
	if err != nil {
		c.T.Fatal(err)
	}
	return c.Send("points", points)
}

// Send uploads a data set.
func (c *Clients) Send(name string, data dataset.Dataset) string {
	c.T.Helper()
	stored, err := wire.SendDataset(c.T.Context(), c.Datasets, name, data, wire.UploadStart{})
	if err != nil {
		c.T.Fatal(err)
	}
	return stored.GetDatasetId()
}

// Spec is a job on a data set.
func Spec(dataset string) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: dataset}, Clusters: &cleavev1.JobSpec_K{K: 2},
		Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}},
	}
}

// Create creates a job.
func (c *Clients) Create(s *cleavev1.JobSpec) string {
	c.T.Helper()
	return c.Submit(&cleavev1.CreateJobRequest{Spec: s, DisplayName: "test"})
}

// Submit creates a job by a whole request.
func (c *Clients) Submit(request *cleavev1.CreateJobRequest) string {
	c.T.Helper()
	response, err := c.Jobs.CreateJob(c.T.Context(), request)
	if err != nil {
		c.T.Fatal(err)
	}
	return response.GetJob().GetJobId()
}

// Job returns a job as it is now.
func (c *Clients) Job(id string) *cleavev1.Job {
	c.T.Helper()
	response, err := c.Jobs.GetJob(c.T.Context(), &cleavev1.GetJobRequest{JobId: id})
	if err != nil {
		c.T.Fatal(err)
	}
	return response.GetJob()
}

// Watch returns the events with larger numbers and the progress, once the stream has ended.
func (c *Clients) Watch(id string, after uint32) ([]*cleavev1.Event, []*cleavev1.Progress) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.T.Context(), 2*time.Minute)
	defer cancel()
	items, err := collect(c.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id, AfterSequence: after}))
	if err != nil {
		c.T.Fatal(err)
	}
	var events []*cleavev1.Event
	var progress []*cleavev1.Progress
	for _, item := range items {
		if e := item.GetEvent(); e != nil {
			if want := after + uint32(len(events)) + 1; e.GetSequence() != want {
				c.T.Fatalf("event %d came where %d should", e.GetSequence(), want)
			}
			events = append(events, e)
		} else {
			progress = append(progress, item.GetProgress())
		}
	}
	return events, progress
}

// FirstEvents waits for the first n events of a job. They are durable then.
func (c *Clients) FirstEvents(id string, n int) []*cleavev1.Event {
	c.T.Helper()
	ctx, cancel := context.WithCancel(c.T.Context())
	defer cancel()
	stream, err := c.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		c.T.Fatal(err)
	}
	var events []*cleavev1.Event
	for len(events) < n {
		item, err := stream.Recv()
		if err != nil {
			c.T.Fatal(err)
		}
		if item.GetEvent() != nil {
			events = append(events, item.GetEvent())
		}
	}
	return events
}

// End waits until a job has ended.
func (c *Clients) End(id string) *cleavev1.Job {
	c.T.Helper()
	events, _ := c.Watch(id, 0)
	if len(events) == 0 || events[len(events)-1].GetEnded() == nil {
		c.T.Fatalf("the watch ended without the end of the job: %v", events)
	}
	return c.Job(id)
}

// Labels returns the labels of a job.
func (c *Clients) Labels(id string) []uint32 {
	c.T.Helper()
	stream, err := c.Jobs.GetLabels(c.T.Context(), &cleavev1.GetLabelsRequest{JobId: id})
	if err != nil {
		c.T.Fatal(err)
	}
	var labels []uint32
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return labels
		}
		if err != nil {
			c.T.Fatal(err)
		}
		if int(part.GetFirstIndex()) != len(labels) {
			c.T.Fatalf("labels from %d on came where %d should", part.GetFirstIndex(), len(labels))
		}
		labels = append(labels, part.GetLabels()...)
	}
}

// Settle waits until so many calls and streams are in work, besides those that ask.
func (c *Clients) Settle(calls, streams uint32) {
	c.T.Helper()
	Await(c.T, fmt.Sprintf("having %d calls and %d streams in work", calls, streams), func() bool {
		response, err := c.Cluster.GetLimits(c.T.Context(), &cleavev1.GetLimitsRequest{})
		if err != nil {
			c.T.Fatal(err)
		}
		inUse := response.GetUsage()
		return inUse.GetCalls()+inUse.GetReads() == calls+1 && inUse.GetStreams() == streams
	})
}

// Reason is the google.rpc.ErrorInfo reason of an error.
func Reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, is := d.(*errdetails.ErrorInfo); is && info.GetDomain() == wire.Domain {
			return info.GetReason()
		}
	}
	return ""
}

// WantError checks the code and the reason of the error of a call.
func WantError(t *testing.T, err error, code codes.Code, why string) {
	t.Helper()
	if status.Code(err) != code || Reason(err) != why {
		t.Errorf("got %v %q (%v), want %v %q", status.Code(err), Reason(err), err, code, why)
	}
}

// WantRefusal checks that a call is refused for the moment, with a hint when to try again.
func WantRefusal(t *testing.T, err error, why string) {
	t.Helper()
	WantError(t, err, codes.ResourceExhausted, why)
	if delay, helps := wire.RetryDelay(err); !helps || delay <= 0 {
		t.Errorf("%s says nothing about when to try again: %v", why, err)
	}
}
