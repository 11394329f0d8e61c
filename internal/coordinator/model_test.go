package coordinator_test

import (
	"context"
	"reflect"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// modelOf fetches the model of a job.
func modelOf(h *coordinatortest.Harness, id string) (*model.Model, error) {
	stream, err := h.Jobs.GetModel(h.T.Context(), &cleavev1.GetModelRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	return wire.ReceiveModel(stream.Recv)
}

func TestModelsAreKeptAndSent(t *testing.T) {
	weights, err := metric.NewDiagonal([]float64{0.1, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Model{Distortion: metric.SquaredEuclidean, K: 2, D: 2, Centroids: []float64{1, 2, -3, 1.0 / 3},
		Metric: weights}
	value := 0.5
	run := func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		r, err := coordinatortest.Steps(1)(ctx, o)
		r.Model = want
		r.Inference = &clustering.Inference{LPValue: &value}
		return r, err
	}
	described := func(r *cleavev1.Result) bool { return r.GetModel() != nil && r.GetInference().GetLpValue() == value }
	wantKeptAndSent(t, run, described, modelOf, want, "JOB_HAS_NO_MODEL")
}

func TestEmbeddingsAreKeptAndSent(t *testing.T) {
	want := &clustering.Embedding{Rows: 4, Columns: 2, Values: []float64{1, 2, -3, 1.0 / 3, 5, 6, 7, 8}}
	run := func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.SolverStep{Step: 1, Products: 4, Residual: 0.5, Wanted: 2})
		r := coordinatortest.Result(0, clustering.StopConverged)
		r.History = nil
		r.Spectral.Embedding = want
		r.Spectral.Eigen = &clustering.EigenReport{Volume: 14}
		return r, nil
	}
	described := func(r *cleavev1.Result) bool { return r.GetEmbedding() != nil && r.GetSpectral().GetVolume() == 14 }
	wantKeptAndSent(t, run, described, (*coordinatortest.Harness).Embedding, want, "JOB_HAS_NO_EMBEDDING")
}

// wantKeptAndSent checks that a part of a result is described, outlives a coordinator, is sent, and is deleted with
// its job; and that a job without it says so.
func wantKeptAndSent[P any](t *testing.T, run coordinatortest.Script, described func(*cleavev1.Result) bool,
	fetch func(h *coordinatortest.Harness, id string) (P, error), want P, missing string) {
	t.Helper()
	cfg := coordinatortest.Config()
	cfg.Store, cfg.DataDir = "embedded", t.TempDir()
	h := coordinatortest.StartScripted(t, cfg, run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(id)
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil || !described(response.GetResult()) {
		t.Errorf("the result is %v, %v", response, err)
	}
	h.Close()

	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)) // of another family
	if got, err := fetch(h, id); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	without := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(without)
	_, err = fetch(h, without)
	coordinatortest.WantError(t, err, codes.FailedPrecondition, missing)
	_, err = fetch(h, "00000000-0000-7000-8000-000000000000")
	coordinatortest.WantError(t, err, codes.NotFound, "JOB_NOT_FOUND")

	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if left, err := h.Blobs.List(t.Context(), records.JobBlobPrefix(id)); err != nil || len(left) > 0 {
		t.Errorf("a deleted job left %v (%v)", left, err)
	}
}

func TestSparsePointsAreKept(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.CacheBytes = 0 // so that they are read from their blob
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	points, err := dataset.NewSparsePoints(3, 9, []int64{0, 1, 1, 3}, []int32{4, 0, 8}, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	added, err := wire.SendDataset(t.Context(), h.Datasets, "few", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	if added.GetKind() != cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS || added.GetRows() != 3 ||
		added.GetColumns() != 9 || added.GetNonZeros() != 3 {
		t.Errorf("described as %v", added)
	}
	if got, err := h.Coordinator.Datasets().Load(t.Context(), added.GetDatasetId()); err != nil ||
		!reflect.DeepEqual(got, points) {
		t.Errorf("got %+v, %v", got, err)
	}
	list, err := h.Datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
	if err != nil || len(list.GetDatasets()) != 1 || list.GetDatasets()[0].GetNonZeros() != 3 {
		t.Errorf("listed as %v, %v", list, err)
	}
}
