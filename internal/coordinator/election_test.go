package coordinator_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// reopenedState is a shared state that can be opened again after it was closed, and whose first transaction finds that
// another coordinator became the leader.
type reopenedState struct {
	store.State
	open    func() store.State
	deposed bool
}

func (s *reopenedState) Close() error {
	err := s.State.Close()
	s.State = s.open()
	return err
}

func (s *reopenedState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if !s.deposed {
		s.deposed = true
		return 0, store.ErrNotLeader
	}
	return s.State.Commit(ctx, txn)
}

// A coordinator that loses leadership before it has restored its backup restores it in its next term, instead of
// serving empty stores.
func TestABackupIsRestoredInALaterTerm(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.DurableConfig(t), coordinatortest.Steps(1))
	data := h.Upload()
	content, err := h.Backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinatortest.Config()
	cfg.Restore = filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(cfg.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	open := store.SharedMemory()
	cfg.Listen, cfg.Store, cfg.Blobs = "127.0.0.1:0", "etcd://unused:1", "mem://"
	cfg.Stores = coordinator.Stores{State: &reopenedState{State: open(), open: open},
		Blobs: coordinatortest.SharedBlobs(t)}
	ctx, stop := context.WithCancel(t.Context())
	addresses := make(chan net.Addr, 10)
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- coordinator.Run(ctx, cfg, func(c *coordinator.Coordinator) { addresses <- c.Addr() })
	}()
	conn, err := grpc.NewClient(coordinatortest.Within(t, addresses, "listening").String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	coordinatortest.Within(t, addresses, "the second term")
	var got *cleavev1.GetDatasetResponse
	for err = error(nil); ; {
		got, err = cleavev1.NewDatasetServiceClient(conn).GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: data},
			grpc.WaitForReady(true))
		if coordinatortest.Reason(err) != "NOT_LEADER" {
			break
		}
	}
	if err != nil || got.GetDataset().GetDatasetId() != data {
		t.Errorf("the restored data set: %v, %v", got, err)
	}
	conn.Close()
	stop()
	if err := coordinatortest.Within(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}

// A coordinator that loses its lease cannot write that it did not crash. When it leads again it knows, and counts the
// others.
func TestALostLeaseIsNoAttempt(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	id := ""
	attempt := func() (term int64) {
		shown := make(chan struct{}, 10)
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(0, shown))
		if id == "" {
			id = h.Create(coordinatortest.Spec(h.Upload()))
		}
		coordinatortest.Within(t, shown, "the run")
		term = h.Coordinator.Term().Revision()
		h.Crash()
		return term
	}
	attempt()
	for range jobs.MaxAttempts + 1 {
		cfg.Election.Outlive(attempt())
	}
	for range jobs.MaxAttempts - 1 {
		attempt()
	}
	job := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED || job.GetError().GetReason() != "COORDINATOR_CRASHED" ||
		!strings.Contains(job.GetError().GetMessage(), fmt.Sprintf("crashed %d times", jobs.MaxAttempts)) {
		t.Errorf("the job is %v", job)
	}
}
