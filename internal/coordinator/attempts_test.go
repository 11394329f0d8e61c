package coordinator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// crashes runs the unfinished jobs of a data directory with a script that makes a number of events, and ends the
// coordinator in the middle of the run.
func crashes(t *testing.T, cfg Config, events int, job func(*harness) string, end func(*harness)) (id string) {
	t.Helper()
	shown := make(chan struct{}, 10)
	h := newHarness(t, cfg, scripted(halfway(events, shown)))
	id = job(h)
	within(t, shown, "the run")
	h.firstEvents(id, events)
	end(h)
	return id
}

func fresh(h *harness) string { return h.create(spec(h.upload())) }

func same(id string) func(*harness) string { return func(*harness) string { return id } }

func wantCrashed(t *testing.T, job *cleavev1.Job) {
	t.Helper()
	if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED || job.GetError().GetReason() != "COORDINATOR_CRASHED" ||
		!strings.Contains(job.GetError().GetMessage(), fmt.Sprintf("crashed %d times", jobs.MaxAttempts)) {
		t.Errorf("the job is %v", job)
	}
}

func TestAJobThatEndsTheCoordinatorIsNotStartedForever(t *testing.T) {
	cfg := durableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*harness).crash)
	for range jobs.MaxAttempts - 1 {
		crashes(t, cfg, 0, same(id), (*harness).crash)
	}
	after := newHarness(t, cfg, scripted(steps(1)))
	wantCrashed(t, after.end(id))
	if job := after.end(fresh(after)); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("another job is %v", job)
	}
}

// A run that gets further than those before, and a coordinator that shuts down, begin to count anew.
func TestAttemptsThatDoNotCount(t *testing.T) {
	cfg := durableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*harness).crash)
	for range 3 {
		crashes(t, cfg, 0, same(id), (*harness).close)
	}
	for events := range 5 {
		crashes(t, cfg, events, same(id), (*harness).crash)
	}
	for range jobs.MaxAttempts - 1 {
		crashes(t, cfg, 4, same(id), (*harness).crash) // as far as before
	}
	crashes(t, cfg, 5, same(id), (*harness).crash) // at the last attempt it gets on
	if job := newHarness(t, cfg, scripted(steps(6))).end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
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

// While a job waits for workers it cannot end the coordinator.
func TestWaitingForWorkersIsNoAttempt(t *testing.T) {
	cfg := durableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*harness).close)
	for range jobs.MaxAttempts + 1 {
		waits := make(chan struct{})
		e := scripted(steps(1))
		e.Await = func(ctx context.Context, _ *fleet.Fleet, report func(fleet.Status), _ []planning.Workload) error {
			report(fleet.Status{Waiting: "waiting for a worker"})
			close(waits)
			<-ctx.Done()
			return ctx.Err()
		}
		h := newHarness(t, cfg, e)
		within(t, waits, "the job to wait")
		h.crash()
	}
	if job := newHarness(t, cfg, scripted(steps(1))).end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// Two jobs run when one of them ends the coordinator. The last attempt of each runs alone, so that only one fails.
func TestAJobDoesNotFailForAnother(t *testing.T) {
	cfg := durableConfig(t)
	shown := make(chan struct{}, 10)
	var ids []string
	for range jobs.MaxAttempts - 1 {
		h := newHarness(t, cfg, scripted(halfway(0, shown)))
		for len(ids) < 2 {
			ids = append(ids, fresh(h))
		}
		within(t, shown, "one run")
		within(t, shown, "the other run")
		h.crash()
	}
	h := newHarness(t, cfg, scripted(halfway(0, shown)))
	within(t, shown, "the last attempt of one job")
	if job := h.job(ids[1]); !strings.Contains(job.GetStatusMessage(), "it must run alone") {
		t.Errorf("the other job is %v", job)
	}
	h.crash()
	last := newHarness(t, cfg, scripted(steps(1)))
	wantCrashed(t, last.end(ids[0]))
	if job := last.end(ids[1]); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the other job is %v", job)
	}
}
