package coordinator_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
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

// lostState is a shared state that can be opened again after it was closed, and whose leader loses its lease when the
// test says so.
type lostState struct {
	store.State
	open func() store.State
	lose chan struct{} // ends one term for each value
	lost atomic.Bool
}

func (s *lostState) Close() error {
	err := s.State.Close()
	s.State = s.open()
	return err
}

func (s *lostState) Lead(ctx context.Context, name string) (store.Leadership, error) {
	term, err := s.State.Lead(ctx, name)
	if err != nil {
		return nil, err
	}
	s.lost.Store(false)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		select {
		case <-s.lose:
			s.lost.Store(true)
		case <-term.Lost():
		}
	}()
	return lostLease{term, lost}, nil
}

func (s *lostState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if s.lost.Load() {
		return 0, store.ErrNotLeader
	}
	return s.State.Commit(ctx, txn)
}

// lostLease is a leadership that is also lost when its channel is closed.
type lostLease struct {
	store.Leadership
	lost <-chan struct{}
}

func (l lostLease) Lost() <-chan struct{} { return l.lost }

// A coordinator that loses its lease cannot write that it did not crash. When it leads again it knows, and counts the
// others.
func TestALostLeaseIsNoAttempt(t *testing.T) {
	open := store.SharedMemory()
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: open(), Blobs: coordinatortest.SharedBlobs(t)}
	shown := make(chan struct{}, 1)
	crashed := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(0, shown))
	id := crashed.Create(coordinatortest.Spec(crashed.Upload()))
	coordinatortest.Within(t, shown, "the run that crashes")
	crashed.Crash()

	state := &lostState{State: open(), open: open, lose: make(chan struct{})}
	cfg.Stores.State = state
	cfg.Engine = coordinatortest.Scripted(coordinatortest.Halfway(0, shown))
	cfg.Listen, cfg.Store, cfg.Blobs = "127.0.0.1:0", "etcd://unused:1", "mem://"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- coordinator.Run(ctx, cfg, func(*coordinator.Coordinator) {}) }()
	for range jobs.MaxAttempts + 1 {
		coordinatortest.Within(t, shown, "a run whose lease is lost")
		state.lose <- struct{}{}
	}
	coordinatortest.Within(t, shown, "the last run")
	entry, err := open().Get(t.Context(), records.JobKey(id))
	if err != nil {
		t.Fatal(err)
	}
	record, err := records.ReadJob(entry)
	if err != nil {
		t.Fatal(err)
	}
	if attempts := record.GetAttemptTerms(); len(attempts) != 2 { // the one that crashed, and the one in progress
		t.Errorf("the attempts are those of the terms %v", attempts)
	}
	stop()
	if err := coordinatortest.Within(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}
