package coordinator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

// moody is a state that answers as it likes.
type moody struct {
	store.State
	commits atomic.Int64
	answer  func(count int64, commit func() error) error
}

func (m *moody) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	var revision int64
	err := m.answer(m.commits.Add(1), func() (err error) {
		revision, err = m.State.Commit(ctx, txn)
		return err
	})
	return revision, err
}

func (h *house) upset(answer func(count int64, commit func() error) error) {
	m := &moody{State: h.c.state, answer: answer}
	h.c.state, h.c.datasets.state = m, m
}

var errLostAnswer = errors.New("the network is down")

// TestLostAnswersDoNotDoubleAnything: each transaction happens, but every other answer is lost.
func TestLostAnswersDoNotDoubleAnything(t *testing.T) {
	h := openHouse(t, testConfig(), scripted(steps(2)))
	h.upset(func(count int64, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		if count%2 == 1 {
			return errLostAnswer
		}
		return nil
	})
	data := h.upload()
	response, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	events, _ := h.watch(response.GetJob().GetJobId(), 0)
	if len(events) != 4 {
		t.Errorf("events are %v", events)
	}
	list, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 1 || list.GetJobs()[0].GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("jobs are %v, %v", list, err)
	}
	blobs, err := h.c.blobs.List(t.Context(), datasetPrefix)
	if err != nil || len(blobs) != 1 {
		t.Errorf("data set blobs are %v, %v", blobs, err)
	}
}

func TestShutdownDoesNotWaitForADeadStore(t *testing.T) {
	cfg := testConfig()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	g := newGate()
	h := openHouse(t, cfg, scripted(g.run))
	h.seen(h.create(spec(h.upload())), 1)
	tried := make(chan struct{}, 100)
	h.upset(func(int64, func() error) error {
		tried <- struct{}{}
		return errLostAnswer
	})
	close(g.open) // the run ends, and its end cannot be stored
	within(t, tried, "the attempt to store the end")
	h.close()
}
