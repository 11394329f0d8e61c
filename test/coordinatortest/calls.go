package coordinatortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
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

// PointParts are the messages of an upload of points.
func PointParts(rows, columns uint32, values ...float64) []*cleavev1.CreateDatasetRequest {
	return []*cleavev1.CreateDatasetRequest{
		{Part: &cleavev1.CreateDatasetRequest_Header{Header: &cleavev1.DatasetHeader{
			Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: rows, Columns: columns}},
		}}},
		{Part: &cleavev1.CreateDatasetRequest_Values{Values: &cleavev1.DenseValues{Values: values}}},
	}
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

// WantSuccess waits until a job has ended and checks that it succeeded.
func (c *Clients) WantSuccess(id string) {
	c.T.Helper()
	if job := c.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		c.T.Errorf("the job is %v", job)
	}
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

// Embedding returns the coordinates of the rows of a job.
func (c *Clients) Embedding(id string) (*clustering.Embedding, error) {
	stream, err := c.Jobs.GetEmbedding(c.T.Context(), &cleavev1.GetEmbeddingRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	return wire.ReceiveEmbedding(stream.Recv)
}

// FirstLabels returns the first message with labels of a job.
func (c *Clients) FirstLabels(id string) (*cleavev1.GetLabelsResponse, error) {
	stream, err := c.Jobs.GetLabels(c.T.Context(), &cleavev1.GetLabelsRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

// Backup returns a backup, and calls during once its first message has arrived.
func (c *Clients) Backup(during func()) ([]byte, error) {
	stream, err := c.Cluster.Backup(c.T.Context(), &cleavev1.BackupRequest{})
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	for first := true; ; first = false {
		part, err := stream.Recv()
		if err == io.EOF {
			return content.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if first {
			during()
		}
		content.Write(part.GetContent())
	}
}

// BeginUpload sends the header of an upload of so many rows of one column, and the first values.
func (c *Clients) BeginUpload(rows, values int) DatasetUpload {
	c.T.Helper()
	stream, err := c.Datasets.CreateDataset(c.T.Context())
	if err != nil {
		c.T.Fatal(err)
	}
	parts := PointParts(uint32(rows), 1, make([]float64, values)...)
	for _, part := range parts {
		if err := stream.Send(part); err != nil {
			c.T.Fatal(err)
		}
	}
	return stream
}

// DatasetUpload is an upload of a data set.
type DatasetUpload = grpc.ClientStreamingClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse]

// Limited is a request for a job that may take so long.
func Limited(s *cleavev1.JobSpec, limit time.Duration) *cleavev1.CreateJobRequest {
	return &cleavev1.CreateJobRequest{Spec: s, Scheduling: &cleavev1.Scheduling{TimeLimit: durationpb.New(limit)}}
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
