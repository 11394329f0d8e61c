package coordinator_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A backup that is taken while a job runs and another one is deleted has both, and the running one goes on from its
// snapshot.
func TestBackupWhileJobsRun(t *testing.T) {
	cfg := coordinatortest.SnapshotConfig(t)
	running := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1), Offers: make(chan struct{})}
	var long atomic.Bool
	h := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			if long.Load() {
				return running.Run(ctx, o)
			}
			return coordinatortest.Steps(3)(ctx, o)
		})
	data := h.Upload()
	done := h.Create(coordinatortest.Spec(data))
	h.End(done)
	labels := h.Labels(done)
	long.Store(true)
	id := h.Create(coordinatortest.Spec(data))
	h.FirstEvents(id, 4)
	for len(coordinatortest.SnapshotFiles(t, cfg)) < runner.Generations {
		running.Offers <- struct{}{}
	}
	content, err := h.Backup(func() {
		if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: done}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Jobs.GetJob(t.Context(),
		&cleavev1.GetJobRequest{JobId: done}); coordinatortest.Reason(err) != records.JobNotFound {
		t.Errorf("the deleted job: %v", err)
	}
	h.Coordinator.AwaitCleanup()
	if left, err := h.Blobs.List(t.Context(), "jobs/"+done+"/"); err != nil || len(left) > 0 {
		t.Errorf("after the backup, %v are left of the deleted job (%v)", left, err)
	}
	h.Crash()

	restored := coordinatortest.SnapshotConfig(t)
	restored.Restore = filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(restored.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
	next := coordinatortest.StartScripted(t, restored, again.Run)
	if job := next.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetLastSequence() != 11 {
		t.Errorf("the restored job is %v", job)
	}
	if from := <-again.From; from == 0 {
		t.Error("the restored job started over")
	}
	if got := next.Labels(done); len(got) == 0 || !slices.Equal(got, labels) {
		t.Errorf("the labels are %v, and were %v", got, labels)
	}
	if _, err := next.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: data}); err != nil {
		t.Errorf("the data set: %v", err)
	}
	next.Close()
	restored.Restore = ""
	if got := coordinatortest.StartScripted(t, restored, coordinatortest.Steps(1)).Job(
		id); got.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("after another start the restored job is %v", got)
	}
}

// A coordinator does not start with a damaged backup, nor with a part of one.
func TestDamagedBackupIsNotRestored(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	h.End(h.Create(coordinatortest.Spec(h.Upload())))
	content, err := h.Backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinatortest.DurableConfig(t)
	cfg.Restore = filepath.Join(t.TempDir(), "backup.tar")
	content[len(content)/2] ^= 1
	cfg.Listen = "127.0.0.1:0"
	if err := os.WriteFile(cfg.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := coordinator.New(t.Context(), cfg); !fault.Is(err, backup.Damaged) {
		t.Errorf("a damaged backup: %v", err)
	}
	cfg.Restore = ""
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Close() // nothing was written
}

func TestOnlyAdministratorsBackUp(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	for _, name := range []string{"rita", "alice"} {
		_, err := s.WithToken(s.Tokens[name]).Backup(func() {})
		coordinatortest.WantError(t, err, codes.PermissionDenied, "ROLE_MISSING")
	}
	content, err := s.WithToken(s.Tokens["ada"]).Backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Check(bytes.NewReader(content)); err != nil {
		t.Error(err)
	}
}
