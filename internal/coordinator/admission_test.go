package coordinator

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
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
	cfg := testConfig()
	cfg.MaxConcurrentJobs, cfg.CacheBytes = 1, 0 // every preparation reads the data set
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	data := h.upload()
	blobs := &countedBlobs{Blobs: h.c.blobs}
	h.c.datasets.Blobs = blobs
	first := h.create(spec(data))
	within(t, g.entered, "the first run")
	if reads := blobs.reads.Load(); reads != 1 {
		t.Errorf("a job that ran at once read its data set %d times", reads)
	}
	second := h.create(spec(data))
	close(g.open)
	for _, id := range []string{first, second} {
		if job := h.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("the job is %v", job)
		}
	}
	if reads := blobs.reads.Load(); reads != 3 {
		t.Errorf("two jobs, one of which had to wait and may not hold its problem, read their data set %d times", reads)
	}
}
