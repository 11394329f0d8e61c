package datasets_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// countedBlobs counts how often data sets are read.
type countedBlobs struct {
	store.Blobs
	reads atomic.Int64
}

func (b *countedBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if strings.HasPrefix(name, "datasets/") {
		b.reads.Add(1)
	}
	return b.Blobs.Open(ctx, name, offset, length)
}

// A problem that is prepared to check the request is used by the run, unless the job has to wait: the
// problems of queued jobs would take memory.
func TestProblemsArePreparedOnceForJobsThatRunAtOnce(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs, cfg.CacheBytes = 1, 0 // every preparation reads the data set
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	data := h.Upload()
	blobs := &countedBlobs{Blobs: h.Blobs.Behavior()}
	h.Blobs.Behave(blobs)
	first := h.Create(coordinatortest.Spec(data))
	coordinatortest.Within(t, g.Entered, "the first run")
	if reads := blobs.reads.Load(); reads != 1 {
		t.Errorf("a job that ran at once read its data set %d times", reads)
	}
	second := h.Create(coordinatortest.Spec(data))
	close(g.Open)
	for _, id := range []string{first, second} {
		if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("the job is %v", job)
		}
	}
	if reads := blobs.reads.Load(); reads != 3 {
		t.Errorf("two jobs, one of which had to wait and may not hold its problem, read their data set %d times", reads)
	}
}
