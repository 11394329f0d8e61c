package jobs_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

func TestUnfinishedJobsSurvive(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*coordinatortest.Harness)
	}{{"a crash", (*coordinatortest.Harness).Crash}, {"a shutdown", (*coordinatortest.Harness).Close}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := coordinatortest.DurableConfig(t)
			cfg.MaxConcurrentJobs = 1
			shown := make(chan struct{}, 10)
			before := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(4, shown))
			data := before.Upload()
			running := before.Create(coordinatortest.Spec(data))
			waiting := before.Create(coordinatortest.Spec(data))
			coordinatortest.Within(t, shown, "the run")
			early := before.FirstEvents(running, 4)
			c.end(before)

			after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(6))
			for _, id := range []string{running, waiting} {
				job := after.End(id)
				if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetIterations() != 6 {
					t.Errorf("after the restart the job is %v", job)
				}
			}
			events, _ := after.Watch(running, 0)
			if len(events) != 8 || !slices.EqualFunc(early, events[:4], func(a, b *cleavev1.Event) bool {
				return proto.Equal(a, b)
			}) {
				t.Errorf("the events were %v and are %v", early, events)
			}
		})
	}
}

func TestEndedJobsSurvive(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	id := before.Create(coordinatortest.Spec(before.Upload()))
	want := before.End(id)
	before.Crash()
	after := coordinatortest.StartScripted(t, cfg, func(context.Context, clustering.Observer) (*clustering.Result,
		error) {
		t.Error("a job that ended runs again")
		return nil, context.Canceled
	})
	if got := after.Job(id); !proto.Equal(got, want) {
		t.Errorf("the job was %v and is %v", want, got)
	}
	if got := after.Labels(id); len(got) != 4 {
		t.Errorf("labels are %v", got)
	}
	if events, _ := after.Watch(id, 1); len(events) != 3 {
		t.Errorf("events are %v", events)
	}
}

func TestReplayMustRepeatTheEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		again coordinatortest.Script
	}{
		{"another value", func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(0)})
			o.Observe(clustering.IterationDone{Restart: 0,
				HistoryEntry: clustering.HistoryEntry{Iteration: 1, Objective: 7}})
			<-ctx.Done()
			return coordinatortest.Result(1, clustering.StopCanceled), nil
		}},
		{"fewer events", coordinatortest.Steps(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := coordinatortest.DurableConfig(t)
			shown := make(chan struct{}, 1)
			before := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(3, shown))
			id := before.Create(coordinatortest.Spec(before.Upload()))
			coordinatortest.Within(t, shown, "the run")
			before.FirstEvents(id, 3)
			before.Crash()

			after := coordinatortest.StartScripted(t, cfg, c.again)
			job := after.End(id)
			if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
				job.GetError().GetReason() != "REPLAY_MISMATCH" ||
				codes.Code(job.GetError().GetCode()) != codes.Internal {
				t.Errorf("the job is %v", job)
			}
			if events, _ := after.Watch(id, 0); len(events) != 4 {
				t.Errorf("the events have become %v", events)
			}
		})
	}
}

func TestDurableCancelSurvives(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	stuck := make(chan struct{})
	before := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(0)})
			<-stuck // does not react to the cancellation
			return nil, ctx.Err()
		})
	id := before.Create(coordinatortest.Spec(before.Upload()))
	before.FirstEvents(id, 1)
	if _, err := before.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	before.State.Close()
	close(stuck)
	before.Crash()

	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	job := after.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || job.GetLastSequence() != 2 {
		t.Errorf("the job is %v", job)
	}
}

func TestRequestIDSurvives(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(before.Upload()),
		RequestId: "8f1f2a34-5d0e-4a4b-9b57-3f0a5f6d9a11"}
	first, err := before.Jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	before.Crash()
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	second, err := after.Jobs.CreateJob(t.Context(), request)
	if err != nil || second.GetJob().GetJobId() != first.GetJob().GetJobId() {
		t.Errorf("the request made %v and %v, %v", first, second, err)
	}
	after.End(first.GetJob().GetJobId())
}

// ledState is a state whose leadership a test changes.
type ledState struct {
	store.State
	term *suspendedTerm
}

func (s *ledState) Lead(ctx context.Context, name string) (store.Leadership, error) {
	term, err := s.State.Lead(ctx, name)
	s.term = &suspendedTerm{Leadership: term}
	return s.term, err
}

func TestLostLeadershipEndsServing(t *testing.T) {
	shown := make(chan struct{}, 1)
	cfg := coordinatortest.Config()
	state := &ledState{State: store.NewMemory()}
	cfg.Stores.State = state
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(1, shown))
	h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, shown, "the run")
	if err := state.term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.EndsByItself(); err == nil {
		t.Error("serving without leading ended without an error")
	}
}

// suspendedTerm is a term that may be over, as after a suspension of the process.
type suspendedTerm struct {
	store.Leadership
	over atomic.Bool
}

func (s *suspendedTerm) Current() bool { return !s.over.Load() }

// suspendingState calls a function whenever something is read.
type suspendingState struct {
	store.State
	read func()
}

func (s suspendingState) Get(ctx context.Context, key string) (store.Entry, error) {
	s.read()
	return s.State.Get(ctx, key)
}

// A leader that is suspended during a call, until another one may lead, does not answer with what it has read before.
// It answers changes: the store would have refused them.
func TestASuspendedLeaderAnswersNoReads(t *testing.T) {
	cfg := coordinatortest.Config()
	state := &ledState{State: store.NewMemory()}
	cfg.Stores.State = state
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(id)
	term := state.term
	h.State.Behave(suspendingState{h.State.Behavior(), func() { term.over.Store(true) }})
	_, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.Unavailable, wire.NotLeader)
	term.over.Store(false)
	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil || !term.over.Load() {
		t.Errorf("a change that was made is answered with %v", err)
	}
}

// A call that computes without end does not hold up the shutdown.
func TestShutdownDoesNotWaitForACallForever(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	called := make(chan struct{}, 1)
	computes := make(chan struct{})
	h.State.Behave(suspendingState{h.State.Behavior(), func() { tell(called); <-computes }})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "any"})
	}()
	coordinatortest.Within(t, called, "the call")
	defer func() { close(computes); coordinatortest.Within(t, answered, "the call") }()
	h.Close()
}

// Of three jobs one has lost its events and one its record. The first fails, the second is left for a repair, and the
// third goes on.
func TestDamagedJobsStopNobody(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	shown := make(chan struct{}, 3)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(2, shown))
	data := before.Upload()
	noEvents := before.Create(coordinatortest.Spec(data))
	noRecord := before.Create(coordinatortest.Spec(data))
	good := before.Create(coordinatortest.Spec(data))
	for _, id := range []string{noEvents, noRecord, good} {
		before.FirstEvents(id, 2)
	}
	damage := store.Txn{Put: []store.Entry{{Key: records.EventKey(noEvents, 1), Value: []byte("no events")},
		{Key: records.JobKey(noRecord), Value: []byte("no record")}}}
	if _, err := before.State.Commit(t.Context(), damage); err != nil {
		t.Fatal(err)
	}
	before.Crash()
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	if job := h.End(good); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job that is not damaged is %v", job)
	}
	if job := h.End(noEvents); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		job.GetError().GetReason() != events.Damaged {
		t.Errorf("the job without events is %v", job)
	}
	_, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: noRecord})
	coordinatortest.WantError(t, err, codes.DataLoss, records.RecordDamaged)
	if _, err := h.State.Get(t.Context(), records.UnfinishedKey(noRecord)); err != nil {
		t.Errorf("the job without a record is no longer listed as unfinished: %v", err)
	}
}
