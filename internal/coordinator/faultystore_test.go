package coordinator

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// faultyState is a state whose commits a test intercepts.
type faultyState struct {
	store.State
	commits atomic.Int64
	answer  func(count int64, commit func() error) error
}

func (f *faultyState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	var revision int64
	err := f.answer(f.commits.Add(1), func() (err error) {
		revision, err = f.State.Commit(ctx, txn)
		return err
	})
	return revision, err
}

// intercept lets a test answer the commits from now on.
func (h *harness) intercept(answer func(count int64, commit func() error) error) {
	f := &faultyState{State: h.c.state, answer: answer}
	h.useState(f)
}

var errLostAnswer = errors.New("the network is down")

// Each transaction is committed, but every second answer of the store is lost.
func TestLostAnswersHaveNoEffect(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(2)))
	h.intercept(func(count int64, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		if count%2 == 1 {
			return errLostAnswer
		}
		return nil
	})
	data := h.upload()
	response, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data),
		RequestId: uuid.NewString()})
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
	blobs, err := h.c.blobs.List(t.Context(), "datasets/")
	if err != nil || len(blobs) != 1 {
		t.Errorf("data set blobs are %v, %v", blobs, err)
	}
}

func TestShutdownDoesNotWaitForADeadStore(t *testing.T) {
	cfg := testConfig()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	h.firstEvents(h.create(spec(h.upload())), 1)
	tried := make(chan struct{}, 100)
	h.intercept(func(int64, func() error) error {
		tried <- struct{}{}
		return errLostAnswer
	})
	close(g.open) // the run ends, and its end cannot be stored
	within(t, tried, "the attempt to store the end")
	h.close()
}

// A store that refuses the end of a job for good is not asked again and again: whoever watches the job is
// told, and the next coordinator runs it again.
func TestStoreThatRefusesTheEnd(t *testing.T) {
	cfg := durableConfig(t)
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	id := h.create(spec(h.upload()))
	h.firstEvents(id, 1)
	stream, err := h.jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id, AfterSequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	h.intercept(func(int64, func() error) error {
		refused.Add(1)
		return fault.New(fault.ResourceExhausted, "STORE_FULL", "the store is full")
	})
	close(g.open)
	for err == nil {
		_, err = stream.Recv()
	}
	wantError(t, err, codes.Internal, "END_NOT_STORED")
	if count := refused.Load(); count > 2 { // the last events and the end
		t.Errorf("the store was asked %d times", count)
	}
	_, err = h.jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	wantError(t, err, codes.FailedPrecondition, "JOB_NOT_ENDED")
	if job := h.job(id); job.GetState() != cleavev1.JobState_JOB_STATE_RUNNING ||
		!strings.Contains(job.GetStatusMessage(), "the store is full") {
		t.Errorf("the job is %v", job)
	}
	h.close()

	if job := newHarness(t, cfg, scripted(steps(1))); job.end(id).GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("after the restart the job is %v", job.job(id))
	}
}

func TestStoreThatDoesNotAnswerIsAskedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &faultyState{answer: func(int64, func() error) error { return errLostAnswer }}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := &records.Writer{State: state, Context: ctx, Logger: hclog.NewNullLogger()}
		if err := w.Commit(store.Txn{}); !errors.Is(err, errLostAnswer) {
			t.Errorf("got %v", err)
		}
		if count := state.commits.Load(); count < 10 || count > 40 {
			t.Errorf("the store was asked %d times in ten minutes", count)
		}
	})
}

// The answer to a commit is lost, and then the leadership: nobody knows whether the job was created. It was, so its
// spec must still be there for the next leader.
func TestWhatMayHaveBeenCommittedIsKept(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(2)))
	data := h.upload()
	h.intercept(func(count int64, commit func() error) error {
		if count > 1 {
			return store.ErrNotLeader
		}
		return errors.Join(commit(), errLostAnswer)
	})
	_, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()})
	wantError(t, err, codes.Unavailable, "NOT_LEADER")
	blobs, err := h.c.blobs.List(t.Context(), "jobs/")
	if err != nil || len(blobs) != 1 {
		t.Errorf("blobs of jobs are %v, %v", blobs, err)
	}
}

// A caller who leaves while the store does not answer is let go. The change is made all the same once the store
// answers.
func TestACallerWhoLeavesDoesNotWaitForTheStore(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(2)))
	data := h.upload()
	other := h.points(7)
	ended := h.create(spec(data))
	h.end(ended)
	service := h.c.jobService
	for name, c := range map[string]struct {
		call func(context.Context) error
		done func() bool
	}{
		"CreateJob": {
			func(ctx context.Context) error {
				_, err := service.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: "left"})
				return err
			},
			func() bool {
				list, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{RequestId: "left"})
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
				_, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: ended})
				return reason(err) == "JOB_NOT_FOUND"
			},
		},
		"DeleteDataset": {
			func(ctx context.Context) error {
				_, err := (&api.Datasets{Datasets: h.c.datasets}).DeleteDataset(ctx,
					&cleavev1.DeleteDatasetRequest{DatasetId: other})
				return err
			},
			func() bool {
				_, err := h.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: other})
				return reason(err) == "DATASET_NOT_FOUND"
			},
		},
	} {
		before := h.c.state
		tried := make(chan struct{}, 100)
		answers := make(chan struct{})
		h.intercept(func(_ int64, commit func() error) error {
			tried <- struct{}{}
			<-answers
			return commit()
		})
		ctx, leave := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() { returned <- c.call(ctx) }()
		within(t, tried, name+"'s transaction")
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
		h.c.writer.Wait()
		h.useState(before)
	}
}

// No more changes wait for a store that does not answer than the coordinator has room for.
func TestFewChangesWaitForTheStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	state := &faultyState{answer: func(int64, func() error) error { <-ctx.Done(); return errLostAnswer }}
	w := &records.Writer{State: state, Context: ctx, Logger: hclog.NewNullLogger()}
	left, leave := context.WithCancel(t.Context())
	leave()
	for err := error(nil); !fault.Is(err, "STORE_BUSY"); {
		if err = w.CommitFor(left, store.Txn{}); state.commits.Load() > 2000 {
			t.Fatalf("%d changes wait", state.commits.Load())
		}
	}
	cancel()
	w.Wait()
	if err := w.CommitFor(t.Context(), store.Txn{}); fault.Is(err, "STORE_BUSY") {
		t.Error("the store stays busy")
	}
}

// putHook calls a function once a blob is stored.
type putHook struct {
	store.Blobs
	stored func(name string)
}

func (p *putHook) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := p.Blobs.Put(ctx, name, write)
	p.stored(name)
	return err
}

// What is stored just before too many changes wait for the store is deleted again.
func TestABusyStoreLeavesNoBlobs(t *testing.T) {
	blobs := &putHook{sharedBlobs(t), func(string) {}}
	cfg := testConfig()
	cfg.Stores.Blobs = blobs
	h := newHarness(t, cfg, scripted(steps(1)))
	data := h.upload()
	_, before := h.leftovers()
	var hangs atomic.Bool
	answers := make(chan struct{})
	h.intercept(func(_ int64, commit func() error) error {
		if hangs.Load() {
			<-answers
		}
		return commit()
	})
	fill := sync.OnceFunc(func() {
		hangs.Store(true)
		left, leave := context.WithCancel(t.Context())
		leave()
		for !fault.Is(h.c.writer.CommitFor(left, store.Txn{}), "STORE_BUSY") {
		}
	})
	blobs.stored = func(name string) {
		if strings.HasPrefix(name, "datasets/") {
			fill()
		}
	}
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.SendDataset(t.Context(), h.datasets, "refused", points, wire.UploadStart{})
	wantError(t, err, codes.Unavailable, "STORE_BUSY")
	_, err = h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data)})
	wantError(t, err, codes.Unavailable, "STORE_BUSY")
	if _, after := h.leftovers(); !slices.Equal(before, after) {
		t.Errorf("the blobs were %q and are %q", before, after)
	}
	close(answers)
	h.c.writer.Wait()
}
