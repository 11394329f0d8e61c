package coordinator

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fault"
)

// backup returns a backup, and calls during once its first message has arrived.
func (h *harness) backup(during func()) ([]byte, error) {
	stream, err := h.cluster.Backup(h.t.Context(), &cleavev1.BackupRequest{})
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

// A backup that is taken while a job runs and another one is deleted has both, and the running one goes on from its
// snapshot.
func TestBackupWhileJobsRun(t *testing.T) {
	cfg := snapshotConfig(t)
	running := &climber{iterations: 9, held: 3, from: make(chan int, 1), offers: make(chan struct{})}
	var long atomic.Bool
	h := newHarness(t, cfg, scripted(func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		if long.Load() {
			return running.run(ctx, o)
		}
		return steps(3)(ctx, o)
	}))
	data := h.upload()
	done := h.create(spec(data))
	h.end(done)
	labels := h.labels(done)
	long.Store(true)
	id := h.create(spec(data))
	h.firstEvents(id, 4)
	for len(snapshotFiles(t, cfg)) < runner.Generations {
		running.offers <- struct{}{}
	}
	content, err := h.backup(func() {
		if _, err := h.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: done}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: done}); reason(err) != records.JobNotFound {
		t.Errorf("the deleted job: %v", err)
	}
	h.awaitSweep()
	if left, err := h.c.blobs.List(t.Context(), "jobs/"+done+"/"); err != nil || len(left) > 0 {
		t.Errorf("after the backup, %v are left of the deleted job (%v)", left, err)
	}
	h.crash()

	restored := snapshotConfig(t)
	restored.Restore = filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(restored.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	again := &climber{iterations: 9, from: make(chan int, 1)}
	next := newHarness(t, restored, scripted(again.run))
	if job := next.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetLastSequence() != 11 {
		t.Errorf("the restored job is %v", job)
	}
	if from := <-again.from; from == 0 {
		t.Error("the restored job started over")
	}
	if got := next.labels(done); len(got) == 0 || !slices.Equal(got, labels) {
		t.Errorf("the labels are %v, and were %v", got, labels)
	}
	if _, err := next.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: data}); err != nil {
		t.Errorf("the data set: %v", err)
	}
	next.close()
	restored.Restore = ""
	if got := newHarness(t, restored, scripted(steps(1))).job(
		id); got.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("after another start the restored job is %v", got)
	}
}

// A coordinator does not start with a damaged backup, nor with a part of one.
func TestDamagedBackupIsNotRestored(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	h.end(h.create(spec(h.upload())))
	content, err := h.backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	cfg := durableConfig(t)
	cfg.Restore = filepath.Join(t.TempDir(), "backup.tar")
	content[len(content)/2] ^= 1
	if err := os.WriteFile(cfg.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), with(cfg, scripted(steps(1)))); !fault.Is(err, backup.Damaged) {
		t.Errorf("a damaged backup: %v", err)
	}
	cfg.Restore = ""
	newHarness(t, cfg, scripted(steps(1))).close() // nothing was written
}

func TestOnlyAdministratorsBackUp(t *testing.T) {
	s := newSecured(t, testConfig(), scripted(steps(1)))
	for _, name := range []string{"rita", "alice"} {
		_, err := s.withToken(s.tokens[name]).backup(func() {})
		wantError(t, err, codes.PermissionDenied, "ROLE_MISSING")
	}
	content, err := s.withToken(s.tokens["ada"]).backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Check(bytes.NewReader(content)); err != nil {
		t.Error(err)
	}
}
