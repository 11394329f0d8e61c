package checkpoint

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
)

// awayBlobs refuse to store anything, after a while.
type awayBlobs struct{ store.Blobs }

func (awayBlobs) Put(context.Context, string, func(io.Writer) error) error {
	time.Sleep(time.Minute)
	return fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
}

// Time in which the store did not answer is none that snapshots took from a run: the next one would be a long way off.
func TestAStoreThatIsAwayTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{
			Config: DefaultConfig(), Blobs: awayBlobs{}, Context: t.Context(), Hold: &backup.Hold{}, Logger: hclog.NewNullLogger(),
			Term: func() int64 { return 1 },
		}
		r, err := s.Of("1", false).Open(t.Context(), snapshot.Identity{}, 1<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		if took := r.save(); !r.failed || took != 0 || r.spent != 0 || r.Exist() {
			t.Errorf("failed: %v; it took %v, %v in all", r.failed, took, r.spent)
		}
	})
}
