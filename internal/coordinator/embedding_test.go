package coordinator

import (
	"context"
	"reflect"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/wire"
)

// embedding fetches the embedding of a job.
func (h *harness) embedding(id string) (*clustering.Embedding, error) {
	stream, err := h.jobs.GetEmbedding(h.t.Context(), &cleavev1.GetEmbeddingRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	return wire.ReceiveEmbedding(stream.Recv)
}

func TestEmbeddingsAreKeptAndSent(t *testing.T) {
	want := &clustering.Embedding{Rows: 4, Columns: 2, Values: []float64{1, 2, -3, 1.0 / 3, 5, 6, 7, 8}}
	cfg := testConfig()
	cfg.Store, cfg.DataDir = storeEmbedded, t.TempDir()
	h := newHarness(t, cfg, scripted(func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.SolverStep{Step: 1, Products: 4, Residual: 0.5, Wanted: 2})
		r := result(0, clustering.StopConverged)
		r.History, r.Embedding, r.Eigen = nil, want, &clustering.EigenReport{Volume: 14}
		return r, nil
	}))
	id := h.create(spec(h.upload()))
	h.end(id)
	response, err := h.jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil || response.GetResult().GetEmbedding() == nil || response.GetResult().GetSpectral().GetVolume() != 14 {
		t.Errorf("the result is %v, %v", response, err)
	}
	h.close()

	h = newHarness(t, cfg, scripted(steps(1))) // of another family
	if got, err := h.embedding(id); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	without := h.create(spec(h.upload()))
	h.end(without)
	_, err = h.embedding(without)
	wantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_EMBEDDING")
	_, err = h.embedding("00000000-0000-7000-8000-000000000000")
	wantError(t, err, codes.NotFound, "JOB_NOT_FOUND")

	if _, err := h.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if left, err := h.c.blobs.List(t.Context(), records.JobBlobPrefix(id)); err != nil || len(left) > 0 {
		t.Errorf("a deleted job left %v (%v)", left, err)
	}
}
