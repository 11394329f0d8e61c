package clustertest

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// hungry is a job whose eigenvectors take some hundred megabytes in the coordinator.
func hungry(c *Coordinator) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(longGraph().data)}, Clusters: &cleavev1.JobSpec_K{K: 400},
		Seed:      1,
		Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}},
	}
}

// TestTheCoordinatorHasTooLittleMemory: a job that would take more than it has is refused.
func TestTheCoordinatorHasTooLittleMemory(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{Args: []string{"--memory", "64MiB"}})
	_, err := c.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: hungry(c)})
	wantError(t, "a job that is too large", err, codes.ResourceExhausted, "COORDINATOR_TOO_SMALL")
}

// TestAJobThatCrashesTheCoordinator: the coordinator believes that it has memory for a job, and crashes whenever it
// runs it. After some attempts it gives the job up and goes on.
func TestAJobThatCrashesTheCoordinator(t *testing.T) {
	if why := needsPlainMemory(); why != "" {
		t.Skip(why)
	}
	if !testscale.Long {
		t.Skip("crashes six coordinators: make test-long; package coordinator tests the attempts")
	}
	t.Parallel()
	c := StartCoordinator(t, Options{Args: []string{"--memory", "100GiB"}, DataKiB: 256 << 10})
	worker := StartWorker(t, c, "w")
	c.AwaitWorkers(1)
	job := c.Create(hungry(c))
	for crashes := 0; ; crashes++ {
		c.ExitCode()
		if crashes > 8 {
			t.Fatal("the job crashes the coordinator again and again")
		}
		worker.Pause() // until the coordinator has said what it does with the job
		c.Restart()
		w := c.Watch(job)
		for ended := false; !ended; {
			item := w.next()
			if ended = item == nil; !ended && strings.Contains(item.GetProgress().GetMessage(), "none is connected") {
				break
			}
		}
		worker.Resume()
		if w.Ended() {
			break
		}
	}
	if failed := c.Job(job); failed.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		failed.GetError().GetReason() != "COORDINATOR_CRASHED" {
		t.Errorf("the job is %v", failed)
	}
	_, w := longPoints().run(c)
	longPoints().finish(t, "after a job that crashed the coordinator", w)
}
