package jobs_test

import (
	"sync/atomic"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// tightBlobs are on a disk that is nearly full.
type tightBlobs struct {
	store.Blobs
	free  int64
	asked atomic.Int64
}

func (b *tightBlobs) Free() (int64, bool) {
	b.asked.Add(1)
	return b.free, true
}

// Where the disk is nearly full a job goes on without snapshots: what is left is for its events and its result.
func TestSnapshotsDoNotFillTheDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		free int64
		kept bool
	}{{"room", 3 * store.ReservedSpace, true}, {"a byte too few", 2*store.ReservedSpace + 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			blobs, err := store.OpenBlobs(t.Context(), "mem://")
			if err != nil {
				t.Fatal(err)
			}
			cfg := coordinatortest.SnapshotConfig(t)
			tight := &tightBlobs{Blobs: blobs, free: c.free}
			cfg.Stores = coordinator.Stores{State: store.NewMemory(), Blobs: tight}
			climb := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1),
				Offers: make(chan struct{})}
			h := coordinatortest.StartScripted(t, cfg, climb.Run)
			id := h.Create(coordinatortest.Spec(h.Upload()))
			h.FirstEvents(id, 4)
			// the one before has been stored then, or not
			for before := tight.asked.Load(); tight.asked.Load() < before+3; {
				climb.Offers <- struct{}{}
			}
			names, err := blobs.List(t.Context(), records.SnapshotPrefix(id))
			if err != nil || len(names) > 0 != c.kept {
				t.Errorf("snapshots are %v, %v", names, err)
			}
			_, err = h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id})
			if err != nil {
				t.Error(err)
			}
			h.End(id)
		})
	}
}
