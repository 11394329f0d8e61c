package runner

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
)

// awayBlobs refuse to store anything, after a while.
type awayBlobs struct{ store.Blobs }

func (awayBlobs) Free() (int64, bool) { return 0, false }

func (awayBlobs) Put(context.Context, string, func(io.Writer) error) error {
	time.Sleep(time.Minute)
	return fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
}

// Time in which the store did not answer is none that snapshots took from a run: the next one would be a long way off.
func TestAStoreThatIsAwayTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &SnapshotStore{
			Config: DefaultSnapshots(), Blobs: awayBlobs{}, Context: t.Context(), Hold: &records.Hold{},
			Logger: hclog.NewNullLogger(),
		}
		r, err := s.Of("1", false).Open(t.Context(), snapshot.Identity{}, 1<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		// the store may still complete it
		if took := r.save(); !r.failed || took != 0 || r.spent != 0 || !r.of.Exist() {
			t.Errorf("failed: %v; it took %v, %v in all", r.failed, took, r.spent)
		}
	})
}

// fullBlobs are on a disk with little room, and count the snapshots that are written.
type fullBlobs struct {
	store.Blobs
	writes int
}

func (*fullBlobs) Free() (int64, bool) { return 2*store.ReservedSpace + 500, true }

func (b *fullBlobs) Put(_ context.Context, _ string, write func(io.Writer) error) error {
	b.writes++
	return write(io.Discard)
}

// A snapshot that has no room on the disk is not begun, so that the disk is not filled and emptied again and again.
func TestASnapshotWithoutRoomIsNotBegun(t *testing.T) {
	blobs := &fullBlobs{}
	s := &SnapshotStore{
		Config: DefaultSnapshots(), Blobs: blobs, Context: t.Context(), Hold: &records.Hold{},
		Logger: hclog.NewNullLogger(),
	}
	r, err := s.Of("1", false).Open(t.Context(), snapshot.Identity{}, 1<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	piece := snapshot.Open(snapshot.With(t.Context(), r.Memory), "search")
	piece.Keep(100, func(w *snapshot.Writer) { w.Append(make([]byte, 100)) })
	if r.save(); r.failed || blobs.writes != 1 {
		t.Errorf("a small one: failed: %v, %d writes", r.failed, blobs.writes)
	}
	r.Memory.Ask()
	piece.Keep(501, func(w *snapshot.Writer) { w.Append(make([]byte, 501)) })
	if took := r.save(); !r.failed || blobs.writes != 1 || took == 0 {
		t.Errorf("a large one: failed: %v, %d writes, %v counted", r.failed, blobs.writes, took)
	}
	r.of.store.FreeDisk = 1 << 30
	if got := r.of.store.diskFull().Error(); !strings.Contains(got, "1 GiB") {
		t.Errorf("the error is %q", got)
	}
}
