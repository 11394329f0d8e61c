package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// crashes runs the unfinished jobs of a data directory with a script that makes a number of events, and ends the
// coordinator in the middle of the run.
func crashes(t *testing.T, cfg coordinator.Config, events int, job func(*coordinatortest.Harness) string,
	end func(*coordinatortest.Harness)) (id string) {
	t.Helper()
	shown := make(chan struct{}, 10)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(events, shown))
	id = job(h)
	coordinatortest.Within(t, shown, "the run")
	h.FirstEvents(id, events)
	end(h)
	return id
}

func fresh(h *coordinatortest.Harness) string { return h.Create(coordinatortest.Spec(h.Upload())) }

func same(id string) func(*coordinatortest.Harness) string {
	return func(*coordinatortest.Harness) string { return id }
}

func wantCrashed(t *testing.T, job *cleavev1.Job) {
	t.Helper()
	if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED || job.GetError().GetReason() != "COORDINATOR_CRASHED" ||
		!strings.Contains(job.GetError().GetMessage(), fmt.Sprintf("crashed %d times", jobs.MaxAttempts)) {
		t.Errorf("the job is %v", job)
	}
}

func TestAJobThatEndsTheCoordinatorIsNotStartedForever(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*coordinatortest.Harness).Crash)
	for range jobs.MaxAttempts - 1 {
		crashes(t, cfg, 0, same(id), (*coordinatortest.Harness).Crash)
	}
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	wantCrashed(t, after.End(id))
	if job := after.End(fresh(after)); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("another job is %v", job)
	}
}

// A run that gets further than those before, and a coordinator that shuts down, begin to count anew.
func TestAttemptsThatDoNotCount(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*coordinatortest.Harness).Crash)
	for range 3 {
		crashes(t, cfg, 0, same(id), (*coordinatortest.Harness).Close)
	}
	for events := range 5 {
		crashes(t, cfg, events, same(id), (*coordinatortest.Harness).Crash)
	}
	for range jobs.MaxAttempts - 1 {
		crashes(t, cfg, 4, same(id), (*coordinatortest.Harness).Crash) // as far as before
	}
	crashes(t, cfg, 5, same(id), (*coordinatortest.Harness).Crash) // at the last attempt it gets on
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(6)).WantSuccess(id)
}

// While a job waits for workers it cannot end the coordinator.
func TestWaitingForWorkersIsNoAttempt(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	id := crashes(t, cfg, 0, fresh, (*coordinatortest.Harness).Close)
	for range jobs.MaxAttempts + 1 {
		waits := make(chan struct{})
		cfg.Engine = coordinatortest.Scripted(coordinatortest.Steps(1))
		cfg.Engine.Await = func(ctx context.Context, _ *fleet.Fleet, report func(fleet.Status),
			_ []planning.Workload) error {
			report(fleet.Status{Waiting: "waiting for a worker"})
			close(waits)
			<-ctx.Done()
			return ctx.Err()
		}
		h := coordinatortest.Start(t, cfg)
		coordinatortest.Within(t, waits, "the job to wait")
		h.Crash()
	}
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).WantSuccess(id)
}

// Two jobs run when one of them ends the coordinator. The last attempt of each runs alone, so that only one fails.
func TestAJobDoesNotFailForAnother(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	shown := make(chan struct{}, 10)
	var ids []string
	for range jobs.MaxAttempts - 1 {
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(0, shown))
		for len(ids) < 2 {
			ids = append(ids, fresh(h))
		}
		coordinatortest.Within(t, shown, "one run")
		coordinatortest.Within(t, shown, "the other run")
		h.Crash()
	}
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(0, shown))
	coordinatortest.Within(t, shown, "the last attempt of one job")
	if job := h.Job(ids[1]); !strings.Contains(job.GetStatusMessage(), "it must run alone") {
		t.Errorf("the other job is %v", job)
	}
	h.Crash()
	last := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	wantCrashed(t, last.End(ids[0]))
	if job := last.End(ids[1]); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the other job is %v", job)
	}
}
