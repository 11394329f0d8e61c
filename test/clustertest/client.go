package clustertest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"
)

// Client is a client of the public API. Its methods fail the test if a call fails. Calls that should fail
// use the services directly.
type Client struct {
	t testing.TB

	Conn     *grpc.ClientConn
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	Jobs     cleavev1.JobServiceClient
	Cluster  cleavev1.ClusterServiceClient
}

// dial makes a client whose calls wait while the coordinator is down.
func dial(t testing.TB, addr string, credentials credentials.Dial) Client {
	t.Helper()
	secured, err := credentials.Options(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, append(secured,
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithUnaryInterceptor(withTimeout),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5,
				MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return Client{
		t: t, Conn: conn,
		Datasets: cleavev1.NewDatasetServiceClient(conn),
		Tables:   cleavev1.NewTableServiceClient(conn),
		Jobs:     cleavev1.NewJobServiceClient(conn),
		Cluster:  cleavev1.NewClusterServiceClient(conn),
	}
}

// withTimeout limits every call that is not a stream to Timeout.
func withTimeout(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return call(ctx, method, request, reply, conn, options...)
}

// must returns the value of a call, and fails the test if there is an error.
func must[T any](t testing.TB, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Workers lists the workers.
func (c *Client) Workers() []*cleavev1.Worker {
	c.t.Helper()
	response, err := c.Cluster.ListWorkers(c.t.Context(), &cleavev1.ListWorkersRequest{})
	return must(c.t, response, err).GetWorkers()
}

// Upload stores a data set and returns its id.
func (c *Client) Upload(data dataset.Dataset) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stored, err := wire.SendDataset(ctx, c.Datasets, "test", data, wire.UploadStart{})
	return must(c.t, stored, err).GetDatasetId()
}

// UploadTable stores a table and returns what names it in a job.
func (c *Client) UploadTable(t *table.Table) *cleavev1.TableInput {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stored, err := wire.SendTable(ctx, c.Tables, "test", t, wire.UploadStart{})
	return &cleavev1.TableInput{Source: &cleavev1.TableInput_TableId{TableId: must(c.t, stored, err).GetTableId()}}
}

// Create creates a job and returns its id.
func (c *Client) Create(spec *cleavev1.JobSpec) string {
	c.t.Helper()
	return c.Submit(&cleavev1.CreateJobRequest{Spec: spec})
}

// Submit creates a job by a whole request and returns its id.
func (c *Client) Submit(request *cleavev1.CreateJobRequest) string {
	c.t.Helper()
	response, err := c.Jobs.CreateJob(c.t.Context(), request)
	return must(c.t, response, err).GetJob().GetJobId()
}

// Job gets a job.
func (c *Client) Job(id string) *cleavev1.Job {
	c.t.Helper()
	response, err := c.Jobs.GetJob(c.t.Context(), &cleavev1.GetJobRequest{JobId: id})
	return must(c.t, response, err).GetJob()
}

// Outcome gets the results of a job that has succeeded.
func (c *Client) Outcome(id string) Outcome {
	c.t.Helper()
	if job := c.Job(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		c.t.Fatalf("job %s has not succeeded: %v", id, job)
	}
	response, err := c.Jobs.GetResult(c.t.Context(), &cleavev1.GetResultRequest{JobId: id})
	outcome := Outcome{Result: must(c.t, response, err).GetResult(), Labels: c.Labels(id)}
	if outcome.Result.GetModel() != nil {
		outcome.Model = modelBytes(c.t, c.Model(id))
	}
	if outcome.Result.GetRowScores() != nil {
		outcome.Rows = RowBytes(c.t, c.RowScores(id))
	}
	if outcome.Result.GetEmbedding() != nil {
		outcome.Embedding = c.Embedding(id)
	}
	return outcome
}

// RowScores gets the distances, margins and confidences of the rows of a job.
func (c *Client) RowScores(id string) *clustering.RowScores {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stream, err := c.Jobs.GetRowScores(ctx, &cleavev1.GetRowScoresRequest{JobId: id})
	must(c.t, stream, err)
	scores, err := wire.ReceiveRowScores(stream.Recv)
	return must(c.t, scores, err)
}

// Embedding gets the coordinates that a job of the spectral family computed.
func (c *Client) Embedding(id string) *clustering.Embedding {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stream, err := c.Jobs.GetEmbedding(ctx, &cleavev1.GetEmbeddingRequest{JobId: id})
	must(c.t, stream, err)
	embedding, err := wire.ReceiveEmbedding(stream.Recv)
	return must(c.t, embedding, err)
}

// Model gets the model of a job that has one.
func (c *Client) Model(id string) *model.Model {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stream, err := c.Jobs.GetModel(ctx, &cleavev1.GetModelRequest{JobId: id})
	must(c.t, stream, err)
	model, err := wire.ReceiveModel(stream.Recv)
	return must(c.t, model, err)
}

// Labels gets the labels of a job that has ended.
func (c *Client) Labels(id string) []uint32 {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Timeout)
	defer cancel()
	stream, err := c.Jobs.GetLabels(ctx, &cleavev1.GetLabelsRequest{JobId: id})
	must(c.t, stream, err)
	var labels []uint32
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return labels
		}
		if must(c.t, part, err).GetFirstIndex() != uint32(len(labels)) {
			c.t.Fatalf("labels from %d on came where those from %d on should", part.GetFirstIndex(), len(labels))
		}
		labels = append(labels, part.GetLabels()...)
	}
}
