package jobs_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// afterCrash returns a coordinator that takes over a job from one that crashed, while the blob store refuses some
// reads.
func afterCrash(t *testing.T, refused int64) (after *coordinatortest.Harness, blobs *coordinatortest.AwayBlobs,
	id string) {
	t.Helper()
	open := store.SharedMemory()
	blobs = &coordinatortest.AwayBlobs{Blobs: coordinatortest.SharedBlobs(t)}
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: open(), Blobs: blobs}
	g := coordinatortest.NewBarrier()
	before := coordinatortest.StartScripted(t, cfg, g.Run)
	id = before.Create(coordinatortest.Spec(before.Upload()))
	before.FirstEvents(id, 1)
	before.Crash()

	blobs.Refuse.Store(refused)
	cfg.Stores.State = open()
	close(g.Open)
	return coordinatortest.StartScripted(t, cfg, g.Run), blobs, id
}

// A job that an earlier coordinator accepted waits while the blob store is away.
func TestAJobWaitsForTheBlobStore(t *testing.T) {
	after, _, id := afterCrash(t, 3)
	if job := after.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetStatusMessage() != "" {
		t.Errorf("the job is %v", job)
	}
}

// Watchers of a job that waits for the blob store are told so.
func TestWatchersKnowThatAJobWaitsForTheBlobStore(t *testing.T) {
	after, blobs, id := afterCrash(t, math.MaxInt64)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := after.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	for told := false; err == nil && !told; {
		var item *cleavev1.WatchJobResponse
		item, err = stream.Recv()
		told = strings.HasPrefix(item.GetProgress().GetMessage(),
			"waiting for the stores: the blob store does not work now")
	}
	if err != nil {
		t.Fatal(err)
	}
	blobs.Refuse.Store(0)
	if job := after.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetStatusMessage() != "" {
		t.Errorf("the job is %v", job)
	}
}

// The state of a job is known while the blob store, which has its spec, is away.
func TestAJobIsFoundWhileTheBlobStoreIsAway(t *testing.T) {
	cfg := coordinatortest.Config()
	blobs := &coordinatortest.AwayBlobs{Blobs: coordinatortest.SharedBlobs(t)}
	cfg.Stores.Blobs = blobs
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(id)
	blobs.Refuse.Store(math.MaxInt64)
	_, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.Unavailable, "BLOBS_UNAVAILABLE")
	got, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id, WithoutSpec: true})
	if err != nil || got.GetJob().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || got.GetSpec() != nil {
		t.Errorf("the job is %v, %v", got, err)
	}
}

// lostAnswerThen commits a transaction, loses the answer, and refuses the next attempt.
func lostAnswerThen(refusal error) func(int64, func() error) error {
	first := true
	return func(_ int64, commit func() error) error {
		if first {
			first = false
			_ = commit()
			return coordinatortest.ErrLostAnswer
		}
		if refusal != nil {
			err := refusal
			refusal = nil
			return err
		}
		return commit()
	}
}

var errNoSpace = fault.New(fault.ResourceExhausted, store.DiskFull, "no space is left")

// A job whose creation was committed runs, whatever the store answers when it is asked again.
func TestAJobThatWasCommittedRuns(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	data := h.Upload()
	h.State.Intercept(lostAnswerThen(errNoSpace))
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()}
	created, err := h.Jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	h.WantSuccess(created.GetJob().GetJobId())
}

// A coordinator that is no longer the leader does not know whether its last transaction was committed, and takes
// nothing away that the next leader may need.
func TestALostAnswerDeletesNoSpec(t *testing.T) {
	open := store.SharedMemory()
	blobs := coordinatortest.SharedBlobs(t)
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: open(), Blobs: blobs}
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	data := before.Upload()
	before.State.Intercept(lostAnswerThen(store.ErrNotLeader))
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()}
	_, err := before.Jobs.CreateJob(t.Context(), request)
	coordinatortest.WantError(t, err, codes.Unavailable, "NOT_LEADER")
	before.Crash()

	cfg.Stores.State = open()
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	created, err := after.Jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	after.WantSuccess(created.GetJob().GetJobId())
}

// A data set whose record was committed keeps its bytes.
func TestALostAnswerDeletesNoData(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.CacheBytes = 0
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
	if err != nil {
		t.Fatal(err)
	}
	state := &coordinatortest.Intercepted{State: h.State.Behavior(), Answer: lostAnswerThen(errNoSpace)}
	h.State.Behave(state)
	_, err = wire.SendDataset(t.Context(), h.Datasets, "line", points, wire.UploadStart{})
	if !fault.Is(wire.Fault(err), store.DiskFull) {
		t.Errorf("the upload gives %v", err)
	}
	h.WantSuccess(h.Create(coordinatortest.Spec(h.Upload())))
}

// mutedState commits the first transaction without an answer, and does not answer reads for a while after that.
type mutedState struct {
	store.State
	commits, silent, reads atomic.Int64
}

func (s *mutedState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	revision, err := s.State.Commit(ctx, txn)
	if s.commits.Add(1) == 1 && err == nil {
		return 0, coordinatortest.ErrLostAnswer
	}
	return revision, err
}

func (s *mutedState) Get(ctx context.Context, key string) (store.Entry, error) {
	s.reads.Add(1)
	if s.commits.Load() > 0 && s.silent.Add(-1) >= 0 {
		return store.Entry{}, coordinatortest.ErrLostAnswer
	}
	return s.State.Get(ctx, key)
}

// A job runs whose creation was committed, although neither the commit nor the reads after it were answered: without a
// further call, and a retry finds it.
func TestAJobOfUnknownOutcomeRuns(t *testing.T) {
	for _, retries := range []bool{false, true} {
		h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
		data := h.Upload()
		muted := &mutedState{State: h.State.Behavior()}
		muted.silent.Store(3)
		h.State.Behave(muted)
		request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()}
		if _, err := h.Jobs.CreateJob(t.Context(), request); err == nil {
			t.Fatal("the call was answered")
		}
		if retries {
			reads := muted.reads.Load()
			response, err := h.Jobs.CreateJob(t.Context(), request)
			for err != nil && muted.reads.Load() < reads+50 {
				response, err = h.Jobs.CreateJob(t.Context(), request)
			}
			if err != nil {
				t.Fatalf("the retry: %v after %d reads", err, muted.reads.Load()-reads)
			}
			h.End(response.GetJob().GetJobId())
		}
		var job *cleavev1.Job
		for job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if jobs := list.GetJobs(); len(jobs) > 1 {
				t.Fatalf("there are %d jobs", len(jobs))
			} else if len(jobs) == 1 {
				job = jobs[0]
			}
			runtime.Gosched()
		}
		h.Close()
	}
}
