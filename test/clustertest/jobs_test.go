package clustertest

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// TestSeveralJobsAtOnce creates more jobs of several kinds than can run at a time, and cancels one.
func TestSeveralJobsAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 3)
	loads := []*workload{faultPoints(), spectralJobs()["spectral of a graph, k = 4"], longPoints(), faultVectors(),
		warmUp(), faultPoints()}
	const victim = 2
	watches := make([]*Watch, len(loads))
	for i, load := range loads {
		_, watches[i] = load.run(c)
	}
	watches[victim].UntilIterations(3)
	cancel := &cleavev1.CancelJobRequest{JobId: watches[victim].job}
	for range 2 {
		response, err := c.Jobs.CancelJob(t.Context(), cancel)
		if !must(t, response, err).GetJob().GetCancelRequested() {
			t.Errorf("the job does not say that it is being canceled: %v", response)
		}
	}

	for i, load := range loads {
		if i != victim {
			load.finish(t, "with others beside it", watches[i])
			response, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: watches[i].job})
			if job := must(t, response, err).GetJob(); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
				job.GetCancelRequested() {
				t.Errorf("canceled after its end the job is %v", job)
			}
		}
	}
	wantCanceled(t, c, watches[victim])
	if labels := c.Labels(watches[victim].job); len(labels) != loads[victim].data.Rows() {
		t.Errorf("the canceled job has %d labels", len(labels))
	}
	response, err := c.Jobs.CancelJob(t.Context(), cancel)
	if job := must(t, response, err).GetJob(); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		t.Errorf("canceled after it was canceled the job is %v", job)
	}
	Eventually(t, "the workers are free again", func() (bool, string) {
		for _, w := range c.Workers() {
			if w.GetTiles() > 0 || w.GetTileBytes() > 0 || len(w.GetJobIds()) > 0 {
				return false, w.String()
			}
		}
		return true, ""
	})
}

func wantCanceled(t testing.TB, c *Coordinator, w *Watch) {
	t.Helper()
	if end := w.End(); end.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		end.GetStopReason() != cleavev1.StopReason_STOP_REASON_CANCELLED {
		t.Errorf("the canceled job ended with %v", end)
	}
	job := c.Job(w.job)
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		job.GetStopReason() != cleavev1.StopReason_STOP_REASON_CANCELLED || job.GetEndTime() == nil {
		t.Errorf("the canceled job is %v", job)
	}
}

// TestNoWorkersAtAll: without workers, jobs wait and say so. Meanwhile they can be canceled and survive a
// restart. They run once there is a worker.
func TestNoWorkersAtAll(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	load := longPoints()
	short := load.on(c)
	short.Restarts = 1
	kept := c.Create(short)
	canceledJob := c.Create(short)

	waits := func(job string) {
		t.Helper()
		w := c.Watch(job)
		w.UntilProgress("the job waits", func(p *cleavev1.Progress) bool {
			return p.GetPhase() == cleavev1.Phase_PHASE_WAITING &&
				strings.Contains(p.GetMessage(), "waiting for a worker")
		})
		now := c.Job(job)
		if now.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
			!strings.Contains(now.GetStatusMessage(), "waiting for a worker") {
			t.Errorf("the waiting job is %v", now)
		}
	}
	waits(kept)
	waits(canceledJob)

	for range 2 {
		canceled, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: canceledJob})
		must(t, canceled, err)
		wantCanceled(t, c, c.Watch(canceledJob))
	}
	stream, err := c.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: canceledJob})
	if err == nil {
		_, err = stream.Recv()
	}
	wantError(t, "labels of a job that never ran", err, codes.FailedPrecondition, "JOB_HAS_NO_LABELS")

	c.Kill()
	c.Restart()
	waits(kept)
	if job := c.Job(canceledJob); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		t.Errorf("after a restart the canceled job is %v", job)
	}
	StartWorker(t, c, "first")
	if end := c.Watch(kept).End(); end.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job that waited ended with %v", end)
	}
	SameOutcome(t, "the job that waited", c.Outcome(kept), Compute(t, load.data, short))
}
