package jobs

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newManager returns a Manager that leads, with a state in memory and nothing else.
func newManager(t *testing.T) *Manager {
	t.Helper()
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	term, err := state.Lead(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	log := hclog.NewNullLogger()
	m := New(NewUnfinishedJobs(), Dependencies{
		Context: t.Context(), Writer: &records.Writer{State: state, Context: t.Context(), Logger: log}, Logger: log,
		Now:    time.Now,
		Limits: queue.Limits{Running: 1},
	})
	m.term = term.Revision()
	if err := m.ResumeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// add returns a job that is not launched.
func (m *Manager) add(record *statev1.JobRecord) *Job {
	return m.newJob(record, events.New(record.GetJob().GetJobId(), m.flushEvents), false)
}

// stored returns the record of a job in the state.
func (m *Manager) stored(t *testing.T, id string) *statev1.JobRecord {
	t.Helper()
	entry, err := m.d.Writer.State.Get(t.Context(), records.JobKey(id))
	if err != nil {
		t.Fatal(err)
	}
	record, err := records.ReadJob(entry)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// A job that is created while the coordinator shuts down is left to the next one, since the stores may be closed.
func TestNoJobRunsAfterTheShutdown(t *testing.T) {
	m := newManager(t)
	m.Close()
	late := m.add(&statev1.JobRecord{Job: &cleavev1.Job{JobId: "job"}})
	m.launch(late, nil)
	m.supervisors.Wait()
	select {
	case <-late.done:
		t.Error("the job was supervised")
	default:
	}
}

// The time that a job has used is written now and then; a job that comes back has the rest.
func TestTimeIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		j := m.add(&statev1.JobRecord{
			Job:      &cleavev1.Job{JobId: "job", TimeLimit: durationpb.New(time.Minute)},
			TimeUsed: durationpb.New(30 * time.Second),
		})
		stop := m.limitTime(j)
		defer stop()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if noted := m.stored(t, "job").GetTimeUsed().AsDuration(); noted != 40*time.Second {
			t.Errorf("noted is %v", noted)
		}
		began := time.Now()
		<-j.ctx.Done()
		if took := time.Since(began); took != 18*time.Second || context.Cause(j.ctx) != errTimeLimit {
			t.Errorf("the run ended %v later by %v", took, context.Cause(j.ctx))
		}
	})
}

// A job that cannot begin, because the disk has no space for its record, cannot be canceled either. The caller is told.
func TestCancelingAJobWhoseRecordIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		j := m.add(&statev1.JobRecord{Job: &cleavev1.Job{JobId: "job"}})
		m.jobs.Store(j.id, j)
		j.writing <- struct{}{} // as during a commit that waits for space
		left, cancel := context.WithTimeout(t.Context(), cancelTimeout/10)
		defer cancel()
		if _, err := m.Cancel(left, "job"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that leaves gets %v", err)
		}
		if _, err := m.Cancel(t.Context(), "job"); !fault.Is(err, records.StoreBusy) {
			t.Errorf("a caller that waits gets %v", err)
		}
		<-j.writing
		if job, err := m.Cancel(t.Context(), "job"); err != nil || !job.GetCancelRequested() {
			t.Errorf("after that the caller gets %v, %v", job, err)
		}
		if !m.stored(t, "job").GetJob().GetCancelRequested() || context.Cause(j.ctx) != errCanceled {
			t.Errorf("the run goes on: %v", context.Cause(j.ctx))
		}
		m.d.Writer.Wait()
	})
}

// hookedState calls a function after each commit.
type hookedState struct {
	store.State
	committed func()
}

func (s hookedState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	revision, err := s.State.Commit(ctx, txn)
	s.committed()
	return revision, err
}

// Whoever sees the end of a job may submit the next one, so its place in the queue is free by then.
func TestAJobLeavesTheQueueBeforeItsEndIsSeen(t *testing.T) {
	m := newManager(t)
	j := m.add(&statev1.JobRecord{Job: &cleavev1.Job{JobId: "job"}})
	m.queue.Enter(j, queue.Job{})
	m.advanceQueue()
	committed := make(chan struct{})
	ended := make(chan error)
	m.d.Writer.State = hookedState{m.d.Writer.State, func() {
		j.mu.Lock() // so that the end stays unseen
		close(committed)
	}}
	go func() {
		d := decide(runOutcome{}, nil, true, nil)
		_, err := m.commitEnd(j, m.planEnd(j, d, endBlobs{outcome: "outcome"}))
		ended <- err
	}()
	<-committed
	for began := time.Now(); m.queue.Running() > 0; runtime.Gosched() {
		if time.Since(began) > 5*time.Second {
			t.Error("the job is still in the queue")
			break
		}
	}
	j.mu.Unlock()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What an event shows is progress until something else begins.
func TestTrialsAreProgress(t *testing.T) {
	j := newManager(t).add(&statev1.JobRecord{Job: &cleavev1.Job{JobId: "job"}})
	o := newObserver(j, time.Now)
	o.Observe(clustering.SolverStep{Step: 1})
	o.Observe(clustering.MethodTried{Trial: clustering.Trial{Fold: 1, Folds: 3, MustLinks: 5, MustLinksRight: 4}})
	want := &cleavev1.MethodTried{Method: &cleavev1.Method{}, Fold: 1, Folds: 3, MustLinks: 5, MustLinksRight: 4}
	if p := j.progress.Current(); !proto.Equal(p.GetMethodTried(), want) || p.GetSolver() != nil {
		t.Errorf("the progress is %v", p)
	}
	o.Observe(clustering.IterationDone{})
	if p := j.progress.Current(); p.GetMethodTried() != nil {
		t.Errorf("after an iteration the progress is %v", p)
	}
}

// A job that starts over can use no snapshot, so that its progress is measured from the beginning again.
func TestStartingOverForgetsHowFarSnapshotsWere(t *testing.T) {
	record := &statev1.JobRecord{Job: &cleavev1.Job{JobId: "job"}, NumericClass: "before",
		AttemptTerms: []int64{1, 1, 1, 1}, AttemptSteps: 10_000}
	if !setNumericClass(record, "now", 1) {
		t.Error("a job with events of another class goes on")
	}
	if record.GetStartOvers() != 1 || !attemptResumed(record, 1000, 1) || len(record.GetAttemptTerms()) != 1 {
		t.Errorf("step 1000 is no progress: %v", record)
	}
}
