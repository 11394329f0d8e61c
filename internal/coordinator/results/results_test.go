package results

import (
	"context"
	"io"
	"testing"
	"testing/iotest"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// breakingBlobs fail while they are read.
type breakingBlobs struct{ store.Blobs }

func (breakingBlobs) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return io.NopCloser(iotest.ErrReader(fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE",
		"the blob store does not work now"))), nil
}

// A blob store that fails during a read has not lost what it holds.
func TestABreakingReadIsNotDamage(t *testing.T) {
	s := New(Dependencies{Parts: &Parts{Blobs: breakingBlobs{}}})
	if _, err := s.rowsOf(t.Context(), &statev1.JobRecord{Job: &cleavev1.Job{JobId: "x"}, RowsBlob: "rows"},
		1); !fault.Is(err, "BLOBS_UNAVAILABLE") {
		t.Errorf("got %v", err)
	}
}
