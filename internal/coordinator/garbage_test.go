package coordinator_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// undeletable is blobs that cannot be deleted.
type undeletable struct{ store.Blobs }

func (undeletable) Delete(context.Context, string) error { return errors.New("read-only file system") }

func TestDeletionIsFinishedByTheNextCoordinator(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	data := before.Upload()
	id := before.Create(coordinatortest.Spec(data))
	before.End(id)
	before.Blobs.Behave(undeletable{before.Blobs.Behavior()})
	if _, err := before.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Datasets.DeleteDataset(t.Context(),
		&cleavev1.DeleteDatasetRequest{DatasetId: data}); err != nil {
		t.Fatal(err)
	}
	list, err := before.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 0 {
		t.Errorf("jobs are %v, %v", list, err)
	}
	if _, blobs := before.Leftovers(); len(blobs) != 4 { // data set, spec, labels, outcome
		t.Errorf("blobs are %v", blobs)
	}
	before.Crash()

	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	if keys, blobs := after.Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// unlisted is a state that does not list garbage: it refuses, or never answers.
type unlisted struct {
	store.State
	answers bool
}

func (u unlisted) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	if prefix != records.GarbagePrefix {
		return u.State.List(ctx, prefix, after, limit)
	}
	if !u.answers {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "the state store does not answer now; try again")
}

// A coordinator serves although it cannot look for garbage, which only takes space, or has not found all of it.
func TestGarbageDoesNotKeepACoordinatorFromStarting(t *testing.T) {
	for _, answers := range []bool{true, false} {
		cfg := coordinatortest.Config()
		cfg.Stores.State = unlisted{store.NewMemory(), answers}
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
		h.WantSuccess(h.Create(coordinatortest.Spec(h.Upload())))
	}
}

// addEvents stores batches of events of a job.
func addEvents(h *coordinatortest.Harness, job string, batches int) {
	h.T.Helper()
	value, err := proto.Marshal(&statev1.EventBatch{})
	if err != nil {
		h.T.Fatal(err)
	}
	var txn store.Txn
	for first := range uint32(batches) {
		txn.Put = append(txn.Put, store.Entry{Key: records.EventKey(job, first+1), Value: value})
	}
	if err := h.Coordinator.Writer().Commit(txn); err != nil {
		h.T.Fatal(err)
	}
}

func TestLeftoverEventsAreDeletedAtTheStart(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	id := before.Create(coordinatortest.Spec(before.Upload()))
	before.End(id)
	addEvents(before, id, 2*records.MaxTxnChanges)                // they are in its outcome
	addEvents(before, "00000000-0000-7000-8000-000000000000", 10) // there is no such job
	before.Crash()
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	after.Coordinator.AwaitCleanup()
	if left, err := after.State.List(t.Context(), records.EventPrefix, "", 0); err != nil || len(left) != 0 {
		t.Errorf("%d events are left over, %v", len(left), err)
	}
}

// uploadState calls a function before a key with a prefix is committed. If that fails, nothing is committed.
type uploadState struct {
	store.State
	prefix string
	before func() error
}

func (s *uploadState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if slices.ContainsFunc(txn.Put, func(e store.Entry) bool { return strings.HasPrefix(e.Key, s.prefix) }) {
		if err := s.before(); err != nil {
			return 0, err
		}
	}
	return s.State.Commit(ctx, txn)
}

// A coordinator that ends after it has stored the blob of an upload, and before its record, leaves no blob that nobody
// ever deletes.
func TestAnUploadThatACrashCutsOffLeavesNothing(t *testing.T) {
	open := store.SharedMemory()
	blobs := coordinatortest.SharedBlobs(t)
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: &uploadState{open(), records.DatasetPrefix,
		func() error { return store.ErrClosed }},
		Blobs: blobs}
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	points, err := dataset.NewPoints(1, 1, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.SendDataset(t.Context(), before.Datasets, "x", points, wire.UploadStart{}); err == nil {
		t.Fatal("the upload succeeds")
	}
	if _, blobs := before.Leftovers(); len(blobs) != 1 {
		t.Fatalf("blobs are %v", blobs)
	}
	before.Crash()
	cfg.Stores.State = open()
	if keys, blobs := coordinatortest.StartScripted(t, cfg,
		coordinatortest.Steps(1)).Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// Garbage that is collected while a data set is uploaded, as at the end of a backup, does not include the upload.
func TestGarbageDoesNotIncludeAnUpload(t *testing.T) {
	state := &uploadState{State: store.NewMemory(), prefix: records.DatasetPrefix, before: func() error { return nil }}
	cfg := coordinatortest.Config()
	cfg.Stores.State, cfg.CacheBytes = state, 0
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	state.before = func() error { return h.Coordinator.Garbage().Collect(t.Context(), h.Coordinator.Needed()) }
	data := h.Upload()
	h.WantSuccess(h.Create(coordinatortest.Spec(data)))
	if garbage, err := h.State.List(t.Context(), records.GarbagePrefix, "", 0); err != nil || len(garbage) != 0 {
		t.Errorf("garbage is %v, %v", garbage, err)
	}
}

// A coordinator that ends after it has stored the spec of a job, and before the job, leaves no spec that nobody ever
// deletes. The specs of jobs that were created stay.
func TestAJobThatACrashCutsOffLeavesNothing(t *testing.T) {
	open := store.SharedMemory()
	blobs := coordinatortest.SharedBlobs(t)
	state := &uploadState{open(), records.UnfinishedPrefix, func() error { return nil }}
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: state, Blobs: blobs}
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.NewBarrier().Run)
	data := before.Upload()
	kept := before.Create(coordinatortest.Spec(data))
	before.FirstEvents(kept, 1)
	state.before = func() error { return store.ErrClosed }
	if _, err := before.Jobs.CreateJob(t.Context(),
		&cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)}); err == nil {
		t.Fatal("the job is created")
	}
	before.Crash()
	specs := func() (specs []string) {
		names, err := blobs.List(t.Context(), records.JobPrefix)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(names, func(name string) bool { return records.JobOfSpec(name) == "" })
	}
	if got := specs(); len(got) != 2 {
		t.Fatalf("after the crash the specs are %v", got)
	}
	cfg.Stores.State = open()
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	after.End(kept)
	after.Coordinator.AwaitCleanup()
	if got := specs(); !slices.Equal(got, []string{records.SpecBlob(kept)}) {
		t.Errorf("the specs are %v; that of %s should be left", got, kept)
	}
}

// A leader that has lost its term without knowing it sees the garbage key of an upload to its successor, and does not
// delete the blob.
func TestAFormerLeaderDeletesNoBlobs(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	h.Coordinator.AwaitCleanup()
	const blob = "datasets/successor/1"
	marked := store.Txn{Put: []store.Entry{{Key: records.GarbageKey(blob)}}}
	if err := h.Coordinator.Writer().Commit(marked); err != nil {
		t.Fatal(err)
	}
	if err := h.Blobs.Put(t.Context(), blob, func(w io.Writer) error {
		_, err := io.WriteString(w, "rows")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	h.State.Intercept(func(int64, func() error) error { return store.ErrNotLeader })
	if err := h.Coordinator.Garbage().Collect(t.Context(), h.Coordinator.Needed()); err != nil {
		t.Error(err)
	}
	if blobs, err := h.Blobs.List(t.Context(), blob); err != nil || len(blobs) != 1 {
		t.Errorf("blobs are %v, %v", blobs, err)
	}
}

// A leader that has lost its term without knowing it does not delete the spec of a job that its successor is about to
// create. That job may have a smaller id, if the clock of the successor is behind.
func TestAFormerLeaderDeletesNoSpecs(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	h.Coordinator.AwaitCleanup()
	successors := records.SpecBlob("00000000-0000-7000-8000-000000000001")
	if err := h.Blobs.Put(t.Context(), successors, func(w io.Writer) error {
		_, err := io.WriteString(w, "spec")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const newest = "00000000-0000-7000-8000-000000000002"
	var leads atomic.Bool
	h.State.Intercept(func(_ int64, commit func() error) error {
		if leads.Load() {
			return commit()
		}
		return store.ErrNotLeader
	})
	if err := h.Coordinator.Garbage().DeleteSpecs(t.Context(), newest); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("a former leader: %v", err)
	}
	if blobs, err := h.Blobs.List(t.Context(), successors); err != nil || len(blobs) != 1 {
		t.Errorf("a former leader leaves %v, %v", blobs, err)
	}
	leads.Store(true)
	if err := h.Coordinator.Garbage().DeleteSpecs(t.Context(), newest); err != nil {
		t.Error(err)
	}
	if blobs, err := h.Blobs.List(t.Context(), successors); err != nil || len(blobs) != 0 {
		t.Errorf("the leader leaves %v, %v", blobs, err)
	}
}
