package coordinator

import (
	"context"
	"io"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// awayBlobs cannot be read for the first few attempts.
type awayBlobs struct {
	store.Blobs
	refuse atomic.Int64
}

func (b *awayBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if b.refuse.Add(-1) >= 0 {
		return nil, fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
	}
	return b.Blobs.Open(ctx, name, offset, length)
}

// afterCrash returns a coordinator that takes over a job from one that crashed, while the blob store refuses some
// reads.
func afterCrash(t *testing.T, refused int64) (after *harness, blobs *awayBlobs, id string) {
	t.Helper()
	open := store.SharedMemory()
	blobs = &awayBlobs{Blobs: sharedBlobs(t)}
	cfg := testConfig()
	cfg.Stores = Stores{State: open(), Blobs: blobs}
	g := newBarrier()
	before := newHarness(t, cfg, scripted(g.run))
	id = before.create(spec(before.upload()))
	before.firstEvents(id, 1)
	before.crash()

	blobs.refuse.Store(refused)
	cfg.Stores.State = open()
	close(g.open)
	return newHarness(t, cfg, scripted(g.run)), blobs, id
}

// A job that an earlier coordinator accepted waits while the blob store is away.
func TestAJobWaitsForTheBlobStore(t *testing.T) {
	after, _, id := afterCrash(t, 3)
	if job := after.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetStatusMessage() != "" {
		t.Errorf("the job is %v", job)
	}
}

// Watchers of a job that waits for the blob store are told so.
func TestWatchersKnowThatAJobWaitsForTheBlobStore(t *testing.T) {
	after, blobs, id := afterCrash(t, math.MaxInt64)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := after.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	for told := false; err == nil && !told; {
		var item *cleavev1.WatchJobResponse
		item, err = stream.Recv()
		told = strings.HasPrefix(item.GetProgress().GetMessage(),
			"waiting for the stores: the blob store does not work now")
	}
	if err != nil {
		t.Fatal(err)
	}
	blobs.refuse.Store(0)
	if job := after.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetStatusMessage() != "" {
		t.Errorf("the job is %v", job)
	}
}

// The state of a job is known while the blob store, which has its spec, is away.
func TestAJobIsFoundWhileTheBlobStoreIsAway(t *testing.T) {
	cfg := testConfig()
	blobs := &awayBlobs{Blobs: sharedBlobs(t)}
	cfg.Stores.Blobs = blobs
	h := newHarness(t, cfg, scripted(steps(1)))
	id := h.create(spec(h.upload()))
	h.end(id)
	blobs.refuse.Store(math.MaxInt64)
	_, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	wantError(t, err, codes.Unavailable, "BLOBS_UNAVAILABLE")
	got, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id, WithoutSpec: true})
	if err != nil || got.GetJob().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || got.GetSpec() != nil {
		t.Errorf("the job is %v, %v", got, err)
	}
}

// openBlobs are blobs that stay when a coordinator closes them.
type openBlobs struct{ store.Blobs }

func (openBlobs) Close() error { return nil }

func sharedBlobs(t *testing.T) store.Blobs {
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	return openBlobs{blobs}
}

// lostAnswerThen commits a transaction, loses the answer, and refuses the next attempt.
func lostAnswerThen(refusal error) func(int64, func() error) error {
	first := true
	return func(_ int64, commit func() error) error {
		if first {
			first = false
			_ = commit()
			return errLostAnswer
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
	h := newHarness(t, testConfig(), scripted(steps(2)))
	data := h.upload()
	h.intercept(lostAnswerThen(errNoSpace))
	request := &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()}
	created, err := h.jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if job := h.end(created.GetJob().GetJobId()); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// A coordinator that is no longer the leader does not know whether its last transaction was committed, and takes
// nothing away that the next leader may need.
func TestALostAnswerDeletesNoSpec(t *testing.T) {
	open := store.SharedMemory()
	blobs := sharedBlobs(t)
	cfg := testConfig()
	cfg.Stores = Stores{State: open(), Blobs: blobs}
	before := newHarness(t, cfg, scripted(steps(2)))
	data := before.upload()
	before.intercept(lostAnswerThen(store.ErrNotLeader))
	request := &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()}
	_, err := before.jobs.CreateJob(t.Context(), request)
	wantError(t, err, codes.Unavailable, "NOT_LEADER")
	before.crash()

	cfg.Stores.State = open()
	after := newHarness(t, cfg, scripted(steps(2)))
	created, err := after.jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if job := after.end(created.GetJob().GetJobId()); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// A data set whose record was committed keeps its bytes.
func TestALostAnswerDeletesNoData(t *testing.T) {
	cfg := testConfig()
	cfg.CacheBytes = 0
	h := newHarness(t, cfg, scripted(steps(2)))
	points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
	if err != nil {
		t.Fatal(err)
	}
	state := &faultyState{State: h.c.state, answer: lostAnswerThen(errNoSpace)}
	h.useState(state)
	_, err = wire.SendDataset(t.Context(), h.datasets, "line", points, wire.UploadStart{})
	if !fault.Is(wire.Fault(err), store.DiskFull) {
		t.Errorf("the upload gives %v", err)
	}
	if job := h.end(h.create(spec(h.upload()))); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// mutedState commits the first transaction without an answer, and does not answer reads for a while after that.
type mutedState struct {
	store.State
	commits, silent, reads atomic.Int64
}

func (s *mutedState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	revision, err := s.State.Commit(ctx, txn)
	if s.commits.Add(1) == 1 && err == nil {
		return 0, errLostAnswer
	}
	return revision, err
}

func (s *mutedState) Get(ctx context.Context, key string) (store.Entry, error) {
	s.reads.Add(1)
	if s.commits.Load() > 0 && s.silent.Add(-1) >= 0 {
		return store.Entry{}, errLostAnswer
	}
	return s.State.Get(ctx, key)
}

// A job runs whose creation was committed, although neither the commit nor the reads after it were answered: without a
// further call, and a retry finds it.
func TestAJobOfUnknownOutcomeRuns(t *testing.T) {
	for _, retries := range []bool{false, true} {
		h := newHarness(t, testConfig(), scripted(steps(2)))
		data := h.upload()
		muted := &mutedState{State: h.c.state}
		muted.silent.Store(3)
		h.useState(muted)
		request := &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()}
		if _, err := h.jobs.CreateJob(t.Context(), request); err == nil {
			t.Fatal("the call was answered")
		}
		if retries {
			reads := muted.reads.Load()
			response, err := h.jobs.CreateJob(t.Context(), request)
			for err != nil && muted.reads.Load() < reads+50 {
				response, err = h.jobs.CreateJob(t.Context(), request)
			}
			if err != nil {
				t.Fatalf("the retry: %v after %d reads", err, muted.reads.Load()-reads)
			}
			h.end(response.GetJob().GetJobId())
		}
		var job *cleavev1.Job
		for job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			list, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
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
		h.close()
	}
}

// A cluster that is started on the blobs of another one while the blob store is away ends when it is back.
func TestBlobsTurnOutToBeAnotherCluster(t *testing.T) {
	shared := sharedBlobs(t)
	cfg := testConfig()
	cfg.Stores = Stores{State: store.NewMemory(), Blobs: shared}
	newHarness(t, cfg, scripted(steps(1))).close()

	open := store.SharedMemory()
	cfg.Stores = Stores{State: open(), Blobs: sharedBlobs(t)}
	newHarness(t, cfg, scripted(steps(1))).close()
	blobs := &awayBlobs{Blobs: shared}
	blobs.refuse.Store(2)
	cfg.Listen, cfg.Stores = "127.0.0.1:0", Stores{State: open(), Blobs: blobs}
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Serve(t.Context()); !fault.Is(err, records.ForeignBlobs) {
		t.Errorf("serving ended with %v", err)
	}
}

// A blob store whose owner turns out to be unreadable ends the coordinator, which would refuse it at its next start.
func TestBlobsTurnOutToBeUnusable(t *testing.T) {
	open := store.SharedMemory()
	blobs := &awayBlobs{Blobs: sharedBlobs(t)}
	cfg := testConfig()
	cfg.Stores = Stores{State: open(), Blobs: blobs}
	newHarness(t, cfg, scripted(steps(1))).close()
	if err := blobs.Delete(t.Context(), records.IdentityBlob); err != nil {
		t.Fatal(err)
	}
	if err := blobs.Put(t.Context(), records.IdentityBlob, func(w io.Writer) error {
		_, err := w.Write([]byte("?"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	blobs.refuse.Store(2)
	cfg.Listen, cfg.Stores.State = "127.0.0.1:0", open()
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Serve(ctx); !fault.Is(err, store.BlobDamaged) {
		t.Errorf("serving ended with %v", err)
	}
}
