package jobs_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// Each transaction is committed, but every second answer of the store is lost.
func TestLostAnswersHaveNoEffect(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	h.State.Intercept(func(count int64, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		if count%2 == 1 {
			return coordinatortest.ErrLostAnswer
		}
		return nil
	})
	data := h.Upload()
	response, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data),
		RequestId: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	events, _ := h.Watch(response.GetJob().GetJobId(), 0)
	if len(events) != 4 {
		t.Errorf("events are %v", events)
	}
	list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 1 || list.GetJobs()[0].GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("jobs are %v, %v", list, err)
	}
	blobs, err := h.Blobs.List(t.Context(), "datasets/")
	if err != nil || len(blobs) != 1 {
		t.Errorf("data set blobs are %v, %v", blobs, err)
	}
}

func TestShutdownDoesNotWaitForADeadStore(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	h.FirstEvents(h.Create(coordinatortest.Spec(h.Upload())), 1)
	tried := make(chan struct{}, 100)
	h.State.Intercept(func(int64, func() error) error {
		tried <- struct{}{}
		return coordinatortest.ErrLostAnswer
	})
	close(g.Open) // the run ends, and its end cannot be stored
	coordinatortest.Within(t, tried, "the attempt to store the end")
	h.Close()
}

// A store that refuses the end of a job for good is not asked again and again: whoever watches the job is
// told, and the next coordinator runs it again.
func TestStoreThatRefusesTheEnd(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.FirstEvents(id, 1)
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id, AfterSequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	h.State.Intercept(func(int64, func() error) error {
		refused.Add(1)
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LARGE", "the end is too large")
	})
	close(g.Open)
	for err == nil {
		_, err = stream.Recv()
	}
	coordinatortest.WantError(t, err, codes.Internal, "END_NOT_STORED")
	if count := refused.Load(); count > 2 { // the last events and the end
		t.Errorf("the store was asked %d times", count)
	}
	_, err = h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_NOT_ENDED")
	if job := h.Job(id); job.GetState() != cleavev1.JobState_JOB_STATE_RUNNING ||
		!strings.Contains(job.GetStatusMessage(), "the end is too large") {
		t.Errorf("the job is %v", job)
	}
	h.Close()

	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).WantSuccess(id)
}

// The answer to a commit is lost, and then the leadership: nobody knows whether the job was created. It was, so its
// spec must still be there for the next leader.
func TestWhatMayHaveBeenCommittedIsKept(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	data := h.Upload()
	h.State.Intercept(func(count int64, commit func() error) error {
		if count > 1 {
			return store.ErrNotLeader
		}
		return errors.Join(commit(), coordinatortest.ErrLostAnswer)
	})
	_, err := h.Jobs.CreateJob(t.Context(),
		&cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()})
	coordinatortest.WantError(t, err, codes.Unavailable, "NOT_LEADER")
	blobs, err := h.Blobs.List(t.Context(), "jobs/")
	if err != nil || len(blobs) != 1 {
		t.Errorf("blobs of jobs are %v, %v", blobs, err)
	}
}
