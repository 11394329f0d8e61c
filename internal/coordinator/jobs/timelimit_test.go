package jobs_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

func wantTimeLimit(t *testing.T, job *cleavev1.Job, message string) {
	t.Helper()
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		job.GetStopReason() != cleavev1.StopReason_STOP_REASON_TIME_LIMIT || job.GetStatusMessage() != message {
		t.Errorf("the job is %v", job)
	}
}

// A job that runs when its time is up keeps the labels so far.
func TestTimeLimitKeepsLabels(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.NewBarrier().Run)
	id := h.Submit(coordinatortest.Limited(coordinatortest.Spec(h.Upload()), 50*time.Millisecond))
	job := h.End(id)
	wantTimeLimit(t, job, "ended by its time limit; labels are from the last completed step")
	if labels := h.Labels(id); len(labels) != 4 || job.GetTimeLimit().AsDuration() != 50*time.Millisecond {
		t.Errorf("labels are %v, the job %v", labels, job)
	}
}

// One that waits for workers has none, and one that waits for its turn does not use its time.
func TestTimeLimitCountsFromTheTurn(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs = 1
	cfg.Engine = coordinatortest.Scripted(coordinatortest.Steps(1))
	cfg.Engine.Await = func(ctx context.Context, _ *fleet.Fleet, _ func(fleet.Status), _ []planning.Workload) error {
		<-ctx.Done()
		return ctx.Err()
	}
	h := coordinatortest.Start(t, cfg)
	data := h.Upload()
	first := h.Submit(coordinatortest.Limited(coordinatortest.Spec(data), time.Hour))
	second := h.Submit(coordinatortest.Limited(coordinatortest.Spec(data), 50*time.Millisecond))
	firstProgress(h, second)
	if job := h.Job(second); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING {
		t.Errorf("the job that waits is %v", job)
	}
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: first}); err != nil {
		t.Fatal(err)
	}
	wantTimeLimit(t, h.End(second), "ended by its time limit before there were labels")
}

// firstProgress waits for more than 50 ms, in which a watch is told several times that its job waits.
func firstProgress(h *coordinatortest.Harness, id string) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), 2*time.Minute)
	defer cancel()
	stream, err := h.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	for range 2 {
		if err == nil {
			_, err = stream.Recv()
		}
	}
	if err != nil {
		h.T.Fatal(err)
	}
}

// A run that is done when its time is up has succeeded.
func TestTimeLimitOfARunThatIsDone(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			<-ctx.Done()
			return coordinatortest.Steps(2)(ctx, o)
		})
	h.WantSuccess(h.Submit(coordinatortest.Limited(coordinatortest.Spec(h.Upload()), 20*time.Millisecond)))
}

// A run that is done when its time is up has succeeded, too, if it is still being compared with the default algorithm.
func TestTimeLimitDuringTheComparison(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			<-ctx.Done()
			return coordinatortest.Steps(2)(ctx, o)
		})
	var values []float64
	var seeds [][2]int32
	for row := range int32(24) {
		values = append(values, float64(row+100*(row%2)))
		seeds = append(seeds, [2]int32{row, row % 2})
	}
	points, err := dataset.NewPoints(len(values), 1, values)
	if err != nil {
		t.Fatal(err)
	}
	s := coordinatortest.Spec(h.Send("line", points))
	s.Supervision = &cleavev1.Supervision{Seeds: coordinatortest.Seeds(seeds...)}
	job := h.End(h.Submit(coordinatortest.Limited(s, 20*time.Millisecond)))
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
		job.GetStopReason() != cleavev1.StopReason_STOP_REASON_CONVERGED {
		t.Errorf("the job is %v", job)
	}
}

func TestTimeLimitsThatAreRefused(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.MaxTime = time.Minute
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	for limit, why := range map[time.Duration]string{0: "INVALID_TIME_LIMIT", -1: "INVALID_TIME_LIMIT",
		time.Hour: "TIME_LIMIT_TOO_LONG"} {
		_, err := h.Jobs.CreateJob(t.Context(), coordinatortest.Limited(coordinatortest.Spec(data), limit))
		coordinatortest.WantError(t, err, codes.InvalidArgument, why)
	}
	// without a default, the longest
	if job := h.Job(h.Create(coordinatortest.Spec(data))); job.GetTimeLimit().AsDuration() != time.Minute {
		t.Errorf("a job that asks for nothing is %v", job)
	}
}
