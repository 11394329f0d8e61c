package coordinator

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// undeletable is blobs that cannot be deleted.
type undeletable struct{ store.Blobs }

func (undeletable) Delete(context.Context, string) error { return errors.New("read-only file system") }

// leftovers are the keys and blobs that there are, except those that every cluster has.
func (h *harness) leftovers() (keys, blobs []string) {
	h.t.Helper()
	entries, err := h.c.state.List(h.t.Context(), "", "", 0)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Key != records.CreatedKey && entry.Key != records.IdentityKey {
			keys = append(keys, entry.Key)
		}
	}
	if blobs, err = h.c.listBlobs(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return keys, blobs
}

func TestDeletionIsFinishedByTheNextCoordinator(t *testing.T) {
	cfg := durableConfig(t)
	before := newHarness(t, cfg, scripted(steps(2)))
	data := before.upload()
	id := before.create(spec(data))
	before.end(id)
	before.c.blobs = undeletable{before.c.blobs}
	if _, err := before.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := before.datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: data}); err != nil {
		t.Fatal(err)
	}
	list, err := before.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 0 {
		t.Errorf("jobs are %v, %v", list, err)
	}
	if _, blobs := before.leftovers(); len(blobs) != 4 { // data set, spec, labels, outcome
		t.Errorf("blobs are %v", blobs)
	}
	before.crash()

	after := newHarness(t, cfg, scripted(steps(2)))
	if keys, blobs := after.leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// unlisted is a state that does not answer about garbage.
type unlisted struct{ store.State }

func (s unlisted) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	if prefix == records.GarbagePrefix {
		return nil, fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "the state store does not answer now; try again")
	}
	return s.State.List(ctx, prefix, after, limit)
}

// A coordinator serves although it cannot look for garbage, which only takes space.
func TestGarbageDoesNotKeepACoordinatorFromStarting(t *testing.T) {
	cfg := testConfig()
	cfg.Stores.State = unlisted{store.NewMemory()}
	h := newHarness(t, cfg, scripted(steps(1)))
	if job := h.end(h.create(spec(h.upload()))); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// addEvents stores batches of events of a job.
func (h *harness) addEvents(job string, batches int) {
	h.t.Helper()
	value, err := proto.Marshal(&statev1.EventBatch{})
	if err != nil {
		h.t.Fatal(err)
	}
	var txn store.Txn
	for first := range uint32(batches) {
		txn.Put = append(txn.Put, store.Entry{Key: records.EventKey(job, first+1), Value: value})
	}
	if err := h.c.writer.Commit(txn); err != nil {
		h.t.Fatal(err)
	}
}

func TestLeftoverEventsAreDeletedAtTheStart(t *testing.T) {
	cfg := durableConfig(t)
	before := newHarness(t, cfg, scripted(steps(1)))
	id := before.create(spec(before.upload()))
	before.end(id)
	before.addEvents(id, 2*records.MaxTxnDeletes)                // they are in its outcome
	before.addEvents("00000000-0000-7000-8000-000000000000", 10) // there is no such job
	before.crash()
	after := newHarness(t, cfg, scripted(steps(1)))
	if left, err := after.c.state.List(t.Context(), records.EventPrefix, "", 0); err != nil || len(left) != 0 {
		t.Errorf("%d events are left over, %v", len(left), err)
	}
}
