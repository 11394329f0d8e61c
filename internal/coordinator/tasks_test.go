package coordinator

import (
	"testing"

	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
)

// A job that is created while the coordinator shuts down is left to the next one, since the stores may be closed.
func TestNoJobRunsAfterTheShutdown(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	g := newBarrier()
	h.c.engine = scripted(g.run)
	id := h.create(spec(h.upload()))
	within(t, g.entered, "the job")
	record := h.c.jobs.get(id).record
	h.close()
	late := h.c.newJob(record, eventlog.New(id, h.c.flushEvents), false)
	h.c.launch(late, nil)
	h.c.supervisors.group.Wait()
	select {
	case <-late.done:
		t.Error("the job was supervised")
	default:
	}
}
