package api_test

import (
	"math"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// TestErrors is a table of requests that fail, with their codes and reasons.
func TestErrors(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	data := h.Upload()
	running := h.Create(coordinatortest.Spec(data))
	coordinatortest.Within(t, g.Entered, "the run")
	ctx := t.Context()

	createJob := func(change func(*cleavev1.CreateJobRequest)) func() error {
		return func() error {
			request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)}
			change(request)
			_, err := h.Jobs.CreateJob(ctx, request)
			return err
		}
	}
	for _, c := range []struct {
		name   string
		call   func() error
		code   codes.Code
		reason string
	}{
		{"unknown job", func() error {
			_, err := h.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: "nobody"})
			return err
		},
			codes.NotFound, "JOB_NOT_FOUND"},
		{"no job named", func() error { _, err := h.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{}); return err },
			codes.InvalidArgument, "FIELD_REQUIRED"},
		{"watch of an unknown job", func() error {
			stream, err := h.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: "nobody"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, codes.NotFound, "JOB_NOT_FOUND"},
		{"result before the end", func() error {
			_, err := h.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: running})
			return err
		},
			codes.FailedPrecondition, "JOB_NOT_ENDED"},
		{"labels before the end", func() error { _, err := h.FirstLabels(running); return err },
			codes.FailedPrecondition, "JOB_NOT_ENDED"},
		{"evaluation before the end", func() error {
			_, err := h.Jobs.EvaluateJob(ctx, &cleavev1.EvaluateJobRequest{JobId: running})
			return err
		}, codes.FailedPrecondition, "JOB_NOT_ENDED"},
		{"deletion before the end", func() error {
			_, err := h.Jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: running})
			return err
		},
			codes.FailedPrecondition, "JOB_NOT_ENDED"},
		{"result of an unknown job", func() error {
			_, err := h.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: "nobody"})
			return err
		},
			codes.NotFound, "JOB_NOT_FOUND"},
		{"deletion without a name", func() error {
			_, err := h.Jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{})
			return err
		},
			codes.InvalidArgument, "FIELD_REQUIRED"},
		{"cancel of an unknown job", func() error {
			_, err := h.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: "nobody"})
			return err
		},
			codes.NotFound, "JOB_NOT_FOUND"},

		{"no spec", createJob(func(r *cleavev1.CreateJobRequest) { r.Spec = nil }), codes.InvalidArgument,
			"FIELD_REQUIRED"},
		{"no data set named", createJob(func(r *cleavev1.CreateJobRequest) {
			r.Spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: ""}
		}), codes.InvalidArgument, "FIELD_REQUIRED"},
		{"unknown data set", createJob(func(r *cleavev1.CreateJobRequest) {
			r.Spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: "00"}
		}), codes.NotFound, "DATASET_NOT_FOUND"},
		{"k is 0", createJob(func(r *cleavev1.CreateJobRequest) { r.Spec.Clusters = &cleavev1.JobSpec_K{K: 0} }),
			codes.InvalidArgument, "BAD_K"},
		{"k over n", createJob(func(r *cleavev1.CreateJobRequest) { r.Spec.Clusters = &cleavev1.JobSpec_K{K: 5} }),
			codes.InvalidArgument, "BAD_K"},
		{"no algorithm for all", createJob(func(r *cleavev1.CreateJobRequest) {
			r.Spec.Algorithm = nil
			r.Spec.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_NEIGHBORHOODS,
				Farthest: cleavev1.FarthestRule_FARTHEST_RULE_MEAN}
		}), codes.InvalidArgument, "OPTION_DOES_NOT_APPLY"},
		{"bad request id", createJob(func(r *cleavev1.CreateJobRequest) { r.RequestId = "two\nlines" }),
			codes.InvalidArgument, "INVALID_REQUEST_ID"},
		{"unknown enum", createJob(func(r *cleavev1.CreateJobRequest) { r.Spec.Storage = 99 }), codes.InvalidArgument,
			"UNKNOWN_ENUM_VALUE"},
		{"constraint out of range", createJob(func(r *cleavev1.CreateJobRequest) {
			r.Spec.Supervision = &cleavev1.Supervision{Constraints: coordinatortest.Constraints("must 0 4")}
		}), codes.InvalidArgument, "INDEX_OUT_OF_RANGE"},
		{"constraint without kind", createJob(func(r *cleavev1.CreateJobRequest) {
			r.Spec.Supervision = &cleavev1.Supervision{Constraints: coordinatortest.Constraints("maybe 0 1")}
		}), codes.InvalidArgument, "UNKNOWN_CONSTRAINT_KIND"},
		{"name too long", createJob(func(r *cleavev1.CreateJobRequest) { r.DisplayName = string(make([]byte, 2000)) }),
			codes.InvalidArgument, "NAME_TOO_LONG"},

		{"page size", func() error {
			_, err := h.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{PageSize: -1})
			return err
		},
			codes.InvalidArgument, "INVALID_PAGE_SIZE"},
		{"page token", func() error {
			_, err := h.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{PageToken: "%%"})
			return err
		},
			codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"page size of workers", func() error {
			_, err := h.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageSize: -1})
			return err
		}, codes.InvalidArgument, "INVALID_PAGE_SIZE"},
		{"page token of workers", func() error {
			_, err := h.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: records.PageToken("jobs/aa")})
			return err
		}, codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"page token of another list", func() error {
			_, err := h.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{PageToken: records.PageToken("datasets/aa")})
			return err
		}, codes.InvalidArgument, "INVALID_PAGE_TOKEN"},

		{"unknown data set asked for", func() error {
			_, err := h.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: "00"})
			return err
		}, codes.NotFound, "DATASET_NOT_FOUND"},
		{"data set in use", func() error {
			_, err := h.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: data})
			return err
		}, codes.FailedPrecondition, "DATASET_IN_USE"},
		{"unknown worker", func() error {
			_, err := h.Cluster.DrainWorker(ctx, &cleavev1.DrainWorkerRequest{WorkerId: "nobody"})
			return err
		}, codes.NotFound, "WORKER_NOT_FOUND"},
	} {
		t.Run(c.name, func(t *testing.T) { coordinatortest.WantError(t, c.call(), c.code, c.reason) })
	}

	close(g.Open)
	h.End(running)
	if _, err := h.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: data}); err != nil {
		t.Errorf("the data set of a job that ended cannot be deleted: %v", err)
	}
}

func TestUploads(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxDatasetBytes = 1000
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(0))
	for _, c := range []struct {
		name   string
		parts  []*cleavev1.CreateDatasetRequest
		code   codes.Code
		reason string
	}{
		{"nothing", nil, codes.InvalidArgument, "HEADER_MISSING"},
		{"NaN", coordinatortest.PointParts(1, 2, 1, math.NaN()), codes.InvalidArgument, "NOT_FINITE"},
		{"too few", coordinatortest.PointParts(2, 2, 1, 2, 3), codes.InvalidArgument, "TOO_FEW_VALUES"},
		{"too many", coordinatortest.PointParts(1, 2, 1, 2, 3), codes.InvalidArgument, "TOO_MANY_VALUES"},
		{"overflow", coordinatortest.PointParts(1<<30, 1<<31), codes.InvalidArgument, "SIZE_OVERFLOW"},
		{"declared too large", coordinatortest.PointParts(1000, 1), codes.ResourceExhausted, "DATASET_TOO_LARGE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, err := h.Datasets.CreateDataset(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.parts {
				_ = stream.Send(part) // the answer may come before the end
			}
			_, err = stream.CloseAndRecv()
			coordinatortest.WantError(t, err, c.code, c.reason)
		})
	}
	if keys, blobs := h.Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("refused uploads left %v and %v", keys, blobs)
	}
}

func TestDatasetsAreContentAddressed(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.CacheBytes = 0 // so that they are read from their blobs
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(0))
	first := h.Upload()
	second := h.Upload()
	if first != second || len(first) != 64 {
		t.Errorf("the same data is %s and %s", first, second)
	}
	graph, err := dataset.NewGraph(3, []dataset.Edge{{Source: 0, Target: 1, Weight: 1},
		{Source: 1, Target: 2, Weight: 2}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := wire.SendDataset(t.Context(), h.Datasets, "path", graph, wire.UploadStart{})
	if err != nil || d.GetKind() != cleavev1.DatasetKind_DATASET_KIND_GRAPH || d.GetRows() != 3 ||
		d.GetNonZeros() != 4 {
		t.Errorf("the graph is %v, %v", d, err)
	}
	var listed []string
	request := &cleavev1.ListDatasetsRequest{PageSize: 1}
	for {
		response, err := h.Datasets.ListDatasets(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range response.GetDatasets() {
			listed = append(listed, d.GetDatasetId())
		}
		if request.PageToken = response.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
	}
	if len(listed) != 2 {
		t.Errorf("the list is %v", listed)
	}
	// After it was deleted and uploaded again it can be loaded again, also from its blob.
	if _, err := h.Datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: first}); err != nil {
		t.Fatal(err)
	}
	if h.Upload() != first {
		t.Error("the id changed")
	}
	h.WantSuccess(h.Create(coordinatortest.Spec(first)))
}
