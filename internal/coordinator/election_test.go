package coordinator

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/store"
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
	h := newHarness(t, durableConfig(t), scripted(steps(1)))
	data := h.upload()
	content, err := h.backup(func() {})
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.Restore = filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(cfg.Restore, content, 0o600); err != nil {
		t.Fatal(err)
	}
	open := store.SharedMemory()
	cfg.Listen, cfg.Store, cfg.Blobs = "127.0.0.1:0", "etcd://unused:1", "mem://"
	cfg.Stores = Stores{State: &reopenedState{State: open(), open: open}, Blobs: sharedBlobs(t)}
	ctx, stop := context.WithCancel(t.Context())
	addresses := make(chan net.Addr, 10)
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- Run(ctx, cfg, func(c *Coordinator) { addresses <- c.Addr() })
	}()
	conn, err := grpc.NewClient(within(t, addresses, "listening").String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	within(t, addresses, "the second term")
	var got *cleavev1.GetDatasetResponse
	for err = error(nil); ; {
		got, err = cleavev1.NewDatasetServiceClient(conn).GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: data},
			grpc.WaitForReady(true))
		if reason(err) != "NOT_LEADER" {
			break
		}
	}
	if err != nil || got.GetDataset().GetDatasetId() != data {
		t.Errorf("the restored data set: %v, %v", got, err)
	}
	conn.Close()
	stop()
	if err := within(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}

// A coordinator that loses its lease cannot write that it did not crash. When it leads again it knows, and counts the
// others.
func TestALostLeaseIsNoAttempt(t *testing.T) {
	cfg := durableConfig(t)
	id, term := "", int64(0)
	lose := func(h *harness) { term = h.c.term.Revision(); h.crash() }
	id = crashes(t, cfg, 0, fresh, (*harness).crash)
	for range jobs.MaxAttempts + 1 {
		crashes(t, cfg, 0, same(id), lose)
		cfg.Election.outlived = append(cfg.Election.outlived, term)
	}
	for range jobs.MaxAttempts - 1 {
		crashes(t, cfg, 0, same(id), (*harness).crash)
	}
	wantCrashed(t, newHarness(t, cfg, scripted(steps(1))).end(id))
}
