package coordinator_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A caller who leaves while the store does not answer is let go. The change is made all the same once the store
// answers.
func TestACallerWhoLeavesDoesNotWaitForTheStore(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	data := h.Upload()
	other := h.Points(7)
	ended := h.Create(coordinatortest.Spec(data))
	h.End(ended)
	service := h.Coordinator.JobService()
	for name, c := range map[string]struct {
		call func(context.Context) error
		done func() bool
	}{
		"CreateJob": {
			func(ctx context.Context) error {
				_, err := service.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data),
					RequestId: "left"})
				return err
			},
			func() bool {
				list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{RequestId: "left"})
				return err == nil && len(list.GetJobs()) == 1 &&
					list.GetJobs()[0].GetState() == cleavev1.JobState_JOB_STATE_SUCCEEDED
			},
		},
		"DeleteJob": {
			func(ctx context.Context) error {
				_, err := service.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: ended})
				return err
			},
			func() bool {
				_, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: ended})
				return coordinatortest.Reason(err) == "JOB_NOT_FOUND"
			},
		},
		"DeleteDataset": {
			func(ctx context.Context) error {
				return h.Coordinator.Datasets().Delete(ctx, other)
			},
			func() bool {
				_, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: other})
				return coordinatortest.Reason(err) == "DATASET_NOT_FOUND"
			},
		},
	} {
		before := h.State.Behavior()
		tried := make(chan struct{}, 100)
		answers := make(chan struct{})
		h.State.Intercept(func(_ int64, commit func() error) error {
			tried <- struct{}{}
			<-answers
			return commit()
		})
		ctx, leave := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() { returned <- c.call(ctx) }()
		coordinatortest.Within(t, tried, name+"'s transaction")
		leave()
		select {
		case err := <-returned:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s returns %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s waits for the store", name)
		}
		close(answers)
		for !c.done() {
			runtime.Gosched()
		}
		h.Coordinator.Writer().Wait()
		h.State.Behave(before)
	}
}

// What is stored just before too many changes wait for the store is deleted again.
func TestABusyStoreLeavesNoBlobs(t *testing.T) {
	blobs := &coordinatortest.PutHook{Blobs: coordinatortest.SharedBlobs(t), Stored: func(string) {}}
	cfg := coordinatortest.Config()
	cfg.Stores.Blobs = blobs
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	_, before := h.Leftovers()
	var hangs atomic.Bool
	answers := make(chan struct{})
	h.State.Intercept(func(_ int64, commit func() error) error {
		if hangs.Load() {
			<-answers
		}
		return commit()
	})
	fill := sync.OnceFunc(func() {
		hangs.Store(true)
		left, leave := context.WithCancel(t.Context())
		leave()
		w := h.Coordinator.Writer()
		commit := func(records.Change) error { return w.Commit(store.Txn{}) }
		for !fault.Is(w.Detach(left, commit), "STORE_BUSY") {
		}
	})
	blobs.Stored = func(name string) {
		if strings.HasPrefix(name, "datasets/") {
			fill()
		}
	}
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.SendDataset(t.Context(), h.Datasets, "refused", points, wire.UploadStart{})
	coordinatortest.WantError(t, err, codes.Unavailable, "STORE_BUSY")
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
	coordinatortest.WantError(t, err, codes.Unavailable, "STORE_BUSY")
	if _, after := h.Leftovers(); !slices.Equal(before, after) {
		t.Errorf("the blobs were %q and are %q", before, after)
	}
	close(answers)
	h.Coordinator.Writer().Wait()
}
