package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// fullBlobs has no space for outcomes while it is full.
type fullBlobs struct {
	store.Blobs
	full  atomic.Bool
	tried chan struct{} // one for each attempt that failed
}

func (b *fullBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	if b.full.Load() && strings.HasSuffix(name, "/outcome") {
		b.tried <- struct{}{}
		return errors.New("no space left")
	}
	return b.Blobs.Put(ctx, name, write)
}

// withFullDisk creates a job on a coordinator whose disk is full when the job ends, and waits for some attempts to
// store its end.
func withFullDisk(t *testing.T, h *coordinatortest.Harness) (string, *fullBlobs) {
	t.Helper()
	data := h.Upload()
	blobs := &fullBlobs{Blobs: h.Blobs.Behavior(), tried: make(chan struct{}, 100)}
	blobs.full.Store(true)
	h.Blobs.Behave(blobs)
	id := h.Create(coordinatortest.Spec(data))
	for range 3 {
		coordinatortest.Within(t, blobs.tried, "an attempt to store the end")
	}
	return id, blobs
}

func TestAResultIsKeptUntilThereIsSpace(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	id, blobs := withFullDisk(t, h)
	const says = "its result cannot be stored; keeping it in memory and retrying: no space left"
	if job := h.Job(id); job.GetState() != cleavev1.JobState_JOB_STATE_RUNNING ||
		!strings.Contains(job.GetStatusMessage(), says) {
		t.Errorf("while the disk is full the job is %v", job)
	}
	if seen := h.FirstEvents(id, 3); len(seen) != 3 { // all but the last
		t.Errorf("events are %v", seen)
	}
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id, AfterSequence: 3})
	if err != nil {
		t.Fatal(err)
	}
	if item, err := stream.Recv(); err != nil || !strings.Contains(item.GetProgress().GetMessage(), says) {
		t.Errorf("whoever watches gets %v, %v", item, err)
	}
	blobs.full.Store(false)
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetStatusMessage() != "" {
		t.Errorf("the job is %v", job)
	}
	if labels := h.Labels(id); !slices.Equal(labels, []uint32{0, 1, 0, 1}) {
		t.Errorf("labels are %v", labels)
	}
	if events, _ := h.Watch(id, 0); len(events) != 4 {
		t.Errorf("events are %v", events)
	}
}

// watchedDeletes tells which blobs were deleted.
type watchedDeletes struct {
	store.Blobs
	deleted chan string
}

func (b watchedDeletes) Delete(ctx context.Context, name string) error {
	err := b.Blobs.Delete(ctx, name)
	b.deleted <- name
	return err
}

func TestAJobIsCanceledWhileThereIsNoSpace(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	h.Coordinator.AwaitCleanup()
	garbage := watchedDeletes{h.Blobs.Behavior(), make(chan string, 100)}
	h.Blobs.Behave(garbage)
	id, _ := withFullDisk(t, h)
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	job := h.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		job.GetStatusMessage() != "canceled while its result could not be stored" {
		t.Errorf("the job is %v", job)
	}
	if deleted := coordinatortest.Within(t, garbage.deleted,
		"the deletion of the labels, which take space that is needed"); !strings.HasSuffix(deleted, "/labels") {
		t.Errorf("%s is deleted", deleted)
	}
	_, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.FailedPrecondition, results.NotStored)
	if events, _ := h.Watch(id, 0); len(events) != 4 { // from the state, because there is no blob
		t.Errorf("events are %v", events)
	}
	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Error(err)
	}
	if left, err := h.State.List(t.Context(), records.EventPrefix, "", 0); err != nil || len(left) != 0 {
		t.Errorf("events are left over: %v, %v", left, err)
	}
}

// The next coordinator runs the job again.
func TestACoordinatorStopsWhileThereIsNoSpace(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	id, _ := withFullDisk(t, before)
	before.Close()
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	if job := after.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetLastSequence() != 4 {
		t.Errorf("the job is %v", job)
	}
}

// A job that failed has nothing to keep, and still says why it failed.
func TestAFailureNeedsNoSpace(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(context.Context, clustering.Observer) (*clustering.Result, error) {
			return nil, fmt.Errorf("the run failed")
		})
	data := h.Upload()
	blobs := &fullBlobs{Blobs: h.Blobs.Behavior(), tried: make(chan struct{}, 100)}
	blobs.full.Store(true)
	h.Blobs.Behave(blobs)
	if job := h.End(h.Create(coordinatortest.Spec(data))); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		job.GetError().GetMessage() != "the run failed" {
		t.Errorf("the job is %v", job)
	}
}

// Results that cannot be stored keep their places in the queue, so that no more of them pile up in memory than jobs
// may run at once.
func TestResultsWithoutSpaceKeepTheirPlaces(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs = 2
	runs := &atomic.Int64{}
	h := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			runs.Add(1)
			return coordinatortest.Steps(1)(ctx, o)
		})
	first, blobs := withFullDisk(t, h)
	ids := []string{first}
	data := h.Job(first).GetDatasetId()
	for range 5 {
		ids = append(ids, h.Create(coordinatortest.Spec(data)))
	}
	for range 5 { // attempts to store the two results
		coordinatortest.Within(t, blobs.tried, "an attempt to store a result")
	}
	limits, err := h.Cluster.GetLimits(t.Context(), &cleavev1.GetLimitsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if in := limits.GetUsage(); runs.Load() != 2 || in.GetJobsRunning() != 2 || in.GetJobsQueued() != 4 {
		t.Errorf("%d jobs ran, %d have places, %d wait; want 2, 2 and 4", runs.Load(), in.GetJobsRunning(),
			in.GetJobsQueued())
	}
	go func() {
		for range blobs.tried { // attempts that began before there was space
		}
	}()
	blobs.full.Store(false)
	for _, id := range ids {
		if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("job %s is %v", id, job.GetState())
		}
	}
	h.Close()
	close(blobs.tried)
}

// cancelingBlobs cancels a job once its first outcome is stored.
type cancelingBlobs struct {
	store.Blobs
	cancel func(id string)
}

func (b *cancelingBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := b.Blobs.Put(ctx, name, write)
	if strings.HasSuffix(name, "/outcome") {
		b.cancel(strings.Split(name, "/")[1])
	}
	return err
}

// A job that is canceled between storing its outcome and committing it has another outcome. The first one is deleted.
func TestAReplacedOutcomeIsDeleted(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	h.Coordinator.AwaitCleanup()
	garbage := watchedDeletes{h.Blobs.Behavior(), make(chan string, 100)}
	data := h.Upload()
	canceled := false
	h.Blobs.Behave(&cancelingBlobs{Blobs: garbage, cancel: func(id string) {
		if !canceled {
			canceled = true
			if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
				t.Error(err)
			}
		}
	}})
	id := h.Create(coordinatortest.Spec(data))
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		t.Errorf("the job is %v", job)
	}
	if len(h.Labels(id)) == 0 {
		t.Error("the labels are gone")
	}
	deleted := coordinatortest.Within(t, garbage.deleted, "the deletion of the first outcome")
	if !strings.HasSuffix(deleted, ".0/outcome") {
		t.Errorf("%s is deleted", deleted)
	}
}

// fullState has space only for urgent transactions and those that put nothing, while it is full.
type fullState struct {
	store.State
	full    atomic.Bool
	refused chan struct{}
}

func (s *fullState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if s.full.Load() && !txn.Urgent && len(txn.Put) > 0 {
		tell(s.refused)
		return 0, errNoSpace
	}
	return s.State.Commit(ctx, txn)
}

func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A running job can be canceled although its events find no space in the state.
func TestAJobIsCanceledWhileTheStateIsFull(t *testing.T) {
	begun := make(chan struct{})
	full := make(chan struct{})
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			close(begun)
			<-full
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(0)})
			<-ctx.Done()
			return coordinatortest.Result(0, clustering.StopCanceled), nil
		})
	state := &fullState{State: h.State.Behavior(), refused: make(chan struct{}, 1)}
	h.State.Behave(state)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, begun, "the run")
	state.full.Store(true)
	close(full)
	coordinatortest.Within(t, state.refused, "the refusal of an event")
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || job.GetIterations() != 0 ||
		job.GetLastSequence() != 2 {
		t.Errorf("the job is %v", job)
	}
}

// A job whose events have filled more than a transaction while neither they nor its outcome could be stored can be
// canceled, and keeps all of them.
func TestAJobIsCanceledAfterManyEventsWithoutSpace(t *testing.T) {
	const events = 90_000 // about 2 MB
	begun := make(chan struct{})
	full := make(chan struct{})
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			close(begun)
			<-full
			for i := range events {
				o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(i)})
			}
			<-ctx.Done()
			return coordinatortest.Result(0, clustering.StopCanceled), nil
		})
	state := &fullState{State: h.State.Behavior(), refused: make(chan struct{}, 1)}
	h.State.Behave(state)
	data := h.Upload()
	blobs := &fullBlobs{Blobs: h.Blobs.Behavior(), tried: make(chan struct{}, 100)}
	blobs.full.Store(true)
	h.Blobs.Behave(blobs)
	id := h.Create(coordinatortest.Spec(data))
	coordinatortest.Within(t, begun, "the run")
	state.full.Store(true)
	close(full)
	coordinatortest.Within(t, state.refused, "the refusal of an event")
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || job.GetLastSequence() != events+1 {
		t.Errorf("the job is %v", job)
	}
}

// A coordinator that shuts down while the state is full has not crashed.
func TestAShutdownOnAFullDiskIsNoCrash(t *testing.T) {
	open := store.SharedMemory()
	blobs := coordinatortest.SharedBlobs(t)
	cfg := coordinatortest.Config()
	id := ""
	for range jobs.MaxAttempts {
		state := &fullState{State: open()}
		cfg.Stores = coordinator.Stores{State: state, Blobs: blobs}
		shown := make(chan struct{}, 1)
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(0, shown))
		if id == "" {
			id = fresh(h)
		}
		coordinatortest.Within(t, shown, "the run")
		state.full.Store(true)
		h.Close()
	}
	cfg.Stores.State = open()
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).WantSuccess(id)
}
