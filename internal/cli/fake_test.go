package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// fake is a coordinator whose answers and failures are set by a test.
type fake struct {
	cleavev1.UnimplementedDatasetServiceServer
	cleavev1.UnimplementedTableServiceServer
	cleavev1.UnimplementedJobServiceServer
	address string

	// watch answers WatchJob; call counts from 0.
	watch func(call int, request *cleavev1.WatchJobRequest,
		stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error

	// stall, if set, is called by GetDataset, which then blocks until the caller gives up.
	stall func()

	mu       sync.Mutex
	watches  []uint32 // after_sequence of each watch
	uploads  int
	datasets map[string]*cleavev1.Dataset
	tables   map[string]*cleavev1.Table
	requests []*cleavev1.CreateJobRequest
	canceled []string
	job      *cleavev1.Job
	refusals int // UNAVAILABLE answers to CreateJob before it works
	lost     int // answers to CancelJob that do not arrive
	lists    []*cleavev1.ListJobsRequest
	unlisted error // the answer to ListJobs; nil for a list of the job
	more     int   // how often the list has the job once more

	// What the job found.
	spec      *cleavev1.JobSpec
	result    *cleavev1.Result
	labels    []int32
	downloads int      // of labels
	ids       []string // of the rows
	model     *model.Model

	embedding *clustering.Embedding
}

func startFake(t *testing.T) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{address: listener.Addr().String(), datasets: map[string]*cleavev1.Dataset{},
		tables: map[string]*cleavev1.Table{}, job: &cleavev1.Job{JobId: "job-1"}}
	server := grpc.NewServer()
	cleavev1.RegisterDatasetServiceServer(server, f)
	cleavev1.RegisterTableServiceServer(server, f)
	cleavev1.RegisterJobServiceServer(server, f)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return f
}

func (f *fake) GetDataset(ctx context.Context,
	request *cleavev1.GetDatasetRequest) (*cleavev1.GetDatasetResponse, error) {
	if f.stall != nil {
		f.stall()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.datasets[request.GetDatasetId()]; d != nil {
		return &cleavev1.GetDatasetResponse{Dataset: d}, nil
	}
	return nil, wire.Status(fault.New(fault.NotFound, "DATASET_NOT_FOUND", "there is no data set %s",
		request.GetDatasetId()))
}

func (f *fake) CreateDataset(
	stream grpc.ClientStreamingServer[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse],
) error {
	upload := wire.NewUpload(1 << 30)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := upload.Add(part); err != nil {
			return wire.Status(err)
		}
	}
	data, err := upload.Finish()
	if err != nil {
		return wire.Status(err)
	}
	described := wire.DatasetProto(data)
	if described.DatasetId, err = dataset.ID(data); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads++
	f.datasets[described.DatasetId] = described
	return stream.SendAndClose(&cleavev1.CreateDatasetResponse{Dataset: described})
}

func (f *fake) GetTable(ctx context.Context, request *cleavev1.GetTableRequest) (*cleavev1.GetTableResponse, error) {
	if f.stall != nil {
		f.stall()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tables[request.GetTableId()]; t != nil {
		return &cleavev1.GetTableResponse{Table: t}, nil
	}
	_, err := wire.NoTables(request.GetTableId())
	return nil, wire.Status(err)
}

func (f *fake) CreateTable(
	stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse],
) error {
	upload := wire.NewTableUpload(1 << 30)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := upload.Add(part); err != nil {
			return wire.Status(err)
		}
	}
	t, err := upload.Finish()
	if err != nil {
		return wire.Status(err)
	}
	described := wire.TableProto(t)
	described.TableId = t.ID()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[described.TableId] = described
	return stream.SendAndClose(&cleavev1.CreateTableResponse{Table: described})
}

func (f *fake) CreateJob(_ context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.CreateJobResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, request)
	if f.refusals > 0 {
		f.refusals--
		return nil, status.Error(codes.Unavailable, "shutting down")
	}
	return &cleavev1.CreateJobResponse{Job: f.job}, nil
}

func (f *fake) GetJob(context.Context, *cleavev1.GetJobRequest) (*cleavev1.GetJobResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &cleavev1.GetJobResponse{Job: f.job, Spec: f.spec}, nil
}

func (f *fake) ListJobs(_ context.Context, request *cleavev1.ListJobsRequest) (*cleavev1.ListJobsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists = append(f.lists, request)
	if f.unlisted != nil {
		return nil, f.unlisted
	}
	return &cleavev1.ListJobsResponse{Jobs: slices.Repeat([]*cleavev1.Job{f.job}, 1+f.more)}, nil
}

func (f *fake) CancelJob(_ context.Context, request *cleavev1.CancelJobRequest) (*cleavev1.CancelJobResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.canceled = append(f.canceled, request.GetJobId())
	if f.lost > 0 {
		f.lost--
		return nil, status.Error(codes.Unavailable, "connection reset")
	}
	return &cleavev1.CancelJobResponse{Job: f.job}, nil
}

func (f *fake) WatchJob(request *cleavev1.WatchJobRequest,
	stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
	f.mu.Lock()
	call := len(f.watches)
	f.watches = append(f.watches, request.GetAfterSequence())
	f.mu.Unlock()
	return f.watch(call, request, stream)
}

func (f *fake) GetResult(context.Context, *cleavev1.GetResultRequest) (*cleavev1.GetResultResponse, error) {
	return &cleavev1.GetResultResponse{Result: f.result}, nil
}

func (f *fake) GetLabels(_ *cleavev1.GetLabelsRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	f.mu.Lock()
	f.downloads++
	f.mu.Unlock()
	return stream.Send(&cleavev1.GetLabelsResponse{Labels: wire.LabelsProto(f.labels), Ids: f.ids})
}

func (f *fake) GetModel(_ *cleavev1.GetModelRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetModelResponse]) error {
	if f.model == nil {
		return wire.Status(fault.New(fault.FailedPrecondition, "JOB_HAS_NO_MODEL", "job job-1 has no model"))
	}
	var values bytes.Buffer
	if err := wire.WriteModel(&values, f.model); err != nil {
		return err
	}
	return wire.SendModel(wire.ModelHead(f.model), &values, stream.Send)
}

func (f *fake) GetEmbedding(_ *cleavev1.GetEmbeddingRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetEmbeddingResponse]) error {
	var values bytes.Buffer
	if err := wire.WriteEmbedding(&values, f.embedding); err != nil {
		return err
	}
	return wire.SendEmbedding(wire.EmbeddingHead(f.embedding), &values, stream.Send)
}
