package jobs_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// awaySnapshots are blobs of which snapshots cannot be read at first, nor written ever.
type awaySnapshots struct {
	store.Blobs
	refuse int // reads
}

func (s *awaySnapshots) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if strings.Contains(name, "/snapshots/") && s.refuse > 0 {
		s.refuse--
		return nil, fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
	}
	return s.Blobs.Open(ctx, name, offset, length)
}

func (s *awaySnapshots) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	if strings.Contains(name, "/snapshots/") {
		return fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
	}
	return s.Blobs.Put(ctx, name, write)
}

// A job whose snapshots cannot be read now waits for them, and does not start over.
func TestAJobWaitsForItsSnapshots(t *testing.T) {
	cfg := coordinatortest.SnapshotConfig(t)
	id := interruptedJob(t, cfg)
	blobs, err := store.OpenBlobs(t.Context(), filepath.Join(cfg.DataDir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Stores.Blobs = &awaySnapshots{Blobs: blobs, refuse: 3}
	again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
	h := coordinatortest.StartScripted(t, cfg, again.Run)
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
	if from := <-again.From; from == 0 {
		t.Error("it started over")
	}
}
