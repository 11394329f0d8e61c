package coordinator_test

import (
	"bytes"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A data set that is shared in one process is the one that an upload would be, but for the copies.
func TestSharedDatasets(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.CacheBytes = 0 // nothing but the shared one is in memory
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.Coordinator.ShareDataset(t.Context(), "line", points)
	if err != nil {
		t.Fatal(err)
	}
	if _, blobs := h.Leftovers(); len(blobs) != 0 {
		t.Errorf("blobs %v", blobs)
	}
	if loaded, err := h.Coordinator.Datasets().Load(t.Context(), id); err != nil || loaded != dataset.Dataset(points) ||
		h.Coordinator.SharedDataset(id) != loaded {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	canonical, err := dataset.Marshal(points)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][2]int64{{0, -1}, {0, 0}, {3, 7}, {24, 8}} {
		want := canonical[part[0]:]
		if part[1] >= 0 {
			want = want[:part[1]]
		}
		r, err := h.Coordinator.Datasets().OpenDataset(t.Context(), id, part[0], part[1])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("bytes %v: %v, %v", part, got, err)
		}
	}
	described, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: id})
	if err != nil || described.GetDataset().GetRows() != 4 || described.GetDataset().GetDisplayName() != "line" {
		t.Errorf("described as %v, %v", described, err)
	}
	again, err := wire.SendDataset(t.Context(), h.Datasets, "again", points, wire.UploadStart{})
	if err != nil || again.GetDatasetId() != id || again.GetDisplayName() != "line" {
		t.Errorf("uploaded again: %v, %v", again, err)
	}
	if second, err := h.Coordinator.ShareDataset(t.Context(), "second", points); err != nil || second != id {
		t.Errorf("shared again: %s, %v", second, err)
	}
	if ended := h.End(h.Create(coordinatortest.Spec(id))); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("a job on it: %v", ended)
	}
	if _, err := h.Datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Datasets.GetDataset(t.Context(),
		&cleavev1.GetDatasetRequest{DatasetId: id}); status.Code(err) != codes.NotFound ||
		h.Coordinator.SharedDataset(id) != nil {
		t.Errorf("after it was deleted: %v", err)
	}
}

// A store that outlives the process cannot refer to its memory.
func TestNothingIsSharedWithADurableStore(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Store, cfg.DataDir = "embedded", t.TempDir()
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	points, err := dataset.NewPoints(1, 1, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Coordinator.ShareDataset(t.Context(), "", points); err == nil {
		t.Error("a data set was shared")
	}
}
