package coordinator

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

func durableConfig(t *testing.T) Config {
	cfg := testConfig()
	cfg.Store, cfg.DataDir = storeEmbedded, t.TempDir()
	return cfg
}

// halfway is a script that does n iterations, says so, and waits until it is stopped.
func halfway(n int, shown chan<- struct{}) script {
	return func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		for i := range n {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(i)})
		}
		shown <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// firstEvents waits for the first n events of a job. They are durable then.
func (h *harness) firstEvents(id string, n int) []*cleavev1.Event {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	stream, err := h.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		h.t.Fatal(err)
	}
	var events []*cleavev1.Event
	for len(events) < n {
		item, err := stream.Recv()
		if err != nil {
			h.t.Fatal(err)
		}
		if item.GetEvent() != nil {
			events = append(events, item.GetEvent())
		}
	}
	return events
}

func TestUnfinishedJobsSurvive(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*harness)
	}{{"a crash", (*harness).crash}, {"a shutdown", (*harness).close}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := durableConfig(t)
			cfg.MaxConcurrentJobs = 1
			shown := make(chan struct{}, 10)
			before := newHarness(t, cfg, scripted(halfway(4, shown)))
			data := before.upload()
			running := before.create(spec(data))
			waiting := before.create(spec(data))
			within(t, shown, "the run")
			early := before.firstEvents(running, 4)
			c.end(before)

			after := newHarness(t, cfg, scripted(steps(6)))
			for _, id := range []string{running, waiting} {
				job := after.end(id)
				if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetIterations() != 6 {
					t.Errorf("after the restart the job is %v", job)
				}
			}
			events, _ := after.watch(running, 0)
			if len(events) != 8 || !slices.EqualFunc(early, events[:4], func(a, b *cleavev1.Event) bool {
				return proto.Equal(a, b)
			}) {
				t.Errorf("the events were %v and are %v", early, events)
			}
		})
	}
}

func TestEndedJobsSurvive(t *testing.T) {
	cfg := durableConfig(t)
	before := newHarness(t, cfg, scripted(steps(2)))
	id := before.create(spec(before.upload()))
	want := before.end(id)
	before.crash()
	after := newHarness(t, cfg, scripted(func(context.Context, clustering.Observer) (*clustering.Result, error) {
		t.Error("a job that ended runs again")
		return nil, context.Canceled
	}))
	if got := after.job(id); !proto.Equal(got, want) {
		t.Errorf("the job was %v and is %v", want, got)
	}
	if got := after.labels(id); len(got) != 4 {
		t.Errorf("labels are %v", got)
	}
	if events, _ := after.watch(id, 1); len(events) != 3 {
		t.Errorf("events are %v", events)
	}
}

func TestReplayMustRepeatTheEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		again script
	}{
		{"another value", func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(0)})
			o.Observe(clustering.IterationDone{Restart: 0,
				HistoryEntry: clustering.HistoryEntry{Iteration: 1, Objective: 7}})
			<-ctx.Done()
			return result(1, clustering.StopCanceled), nil
		}},
		{"fewer events", steps(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := durableConfig(t)
			shown := make(chan struct{}, 1)
			before := newHarness(t, cfg, scripted(halfway(3, shown)))
			id := before.create(spec(before.upload()))
			within(t, shown, "the run")
			before.firstEvents(id, 3)
			before.crash()

			after := newHarness(t, cfg, scripted(c.again))
			job := after.end(id)
			if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
				job.GetError().GetReason() != "REPLAY_MISMATCH" ||
				codes.Code(job.GetError().GetCode()) != codes.Internal {
				t.Errorf("the job is %v", job)
			}
			if events, _ := after.watch(id, 0); len(events) != 4 {
				t.Errorf("the events have become %v", events)
			}
		})
	}
}

func TestDurableCancelSurvives(t *testing.T) {
	cfg := durableConfig(t)
	stuck := make(chan struct{})
	before := newHarness(t, cfg, scripted(func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(0)})
		<-stuck // does not react to the cancellation
		return nil, ctx.Err()
	}))
	id := before.create(spec(before.upload()))
	before.firstEvents(id, 1)
	if _, err := before.jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	before.c.state.Close()
	close(stuck)
	before.crash()

	after := newHarness(t, cfg, scripted(steps(1)))
	job := after.end(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || job.GetLastSequence() != 2 {
		t.Errorf("the job is %v", job)
	}
}

func TestRequestIDSurvives(t *testing.T) {
	cfg := durableConfig(t)
	before := newHarness(t, cfg, scripted(steps(1)))
	request := &cleavev1.CreateJobRequest{Spec: spec(before.upload()),
		RequestId: "8f1f2a34-5d0e-4a4b-9b57-3f0a5f6d9a11"}
	first, err := before.jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	before.crash()
	after := newHarness(t, cfg, scripted(steps(1)))
	second, err := after.jobs.CreateJob(t.Context(), request)
	if err != nil || second.GetJob().GetJobId() != first.GetJob().GetJobId() {
		t.Errorf("the request made %v and %v, %v", first, second, err)
	}
	after.end(first.GetJob().GetJobId())
}

func TestLostLeadershipEndsServing(t *testing.T) {
	shown := make(chan struct{}, 1)
	h := newHarness(t, testConfig(), scripted(halfway(1, shown)))
	h.create(spec(h.upload()))
	within(t, shown, "the run")
	h.once.Do(func() {}) // it ends by itself
	if err := h.c.term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := within(t, h.served, "the end"); err == nil {
		t.Error("serving without leading ended without an error")
	}
	h.stop()
	h.conn.Close()
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
	h := newHarness(t, testConfig(), scripted(steps(1)))
	id := h.create(spec(h.upload()))
	h.end(id)
	term := &suspendedTerm{Leadership: h.c.term}
	h.c.term = term
	h.useState(suspendingState{h.c.state, func() { term.over.Store(true) }})
	_, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	wantError(t, err, codes.Unavailable, wire.NotLeader)
	term.over.Store(false)
	if _, err := h.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil || !term.over.Load() {
		t.Errorf("a change that was made is answered with %v", err)
	}
}

// A call that computes without end does not hold up the shutdown.
func TestShutdownDoesNotWaitForACallForever(t *testing.T) {
	cfg := testConfig()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	h := newHarness(t, cfg, scripted(steps(1)))
	called := make(chan struct{})
	computes := make(chan struct{})
	var first sync.Once // the end of the term may be looked at in the store, too
	h.useState(suspendingState{h.c.state, func() {
		first.Do(func() { close(called) })
		<-computes
	}})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "any"})
	}()
	within(t, called, "the call")
	defer func() { close(computes); within(t, answered, "the call") }()
	h.close()
}

func TestOpenFailsCleanly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		words  string
	}{
		{"no address", func(cfg *Config) { cfg.Listen = "" }, "address"},
		{"bad address", func(cfg *Config) { cfg.Listen = "127.0.0.1:99999" }, "listen"},
		{"no data directory", func(cfg *Config) { cfg.Store = storeEmbedded }, "data directory"},
		{"data directory is a file", func(cfg *Config) { cfg.Store, cfg.DataDir = storeEmbedded, file },
			"data directory"},
		{"unknown store", func(cfg *Config) {
			cfg.Store = "paper"
			cfg.DataDir = t.TempDir()
		}, "paper"},
		{"unknown blobs", func(cfg *Config) { cfg.Blobs = "pigeon://post" }, "pigeon"},
		{"no jobs", func(cfg *Config) { cfg.MaxConcurrentJobs = 0 }, "--max-running"},
		{"lost at once", func(cfg *Config) { cfg.LostAfter = cfg.HeartbeatInterval }, "heartbeat"},
		{"no time to come back", func(cfg *Config) { cfg.ReconnectWithin = 0 }, "reconnect"},
		{"stalled at once", func(cfg *Config) { cfg.StalledAfter = cfg.HeartbeatInterval }, "heartbeat"},
		{"no bytes", func(cfg *Config) { cfg.MaxDatasetBytes = 0 }, "--max-dataset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Listen = "127.0.0.1:0"
			c.change(&cfg)
			_, err := New(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want something about %q", err, c.words)
			}
		})
	}
	cfg := testConfig()
	cfg.Listen = "127.0.0.1:0"
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Of three jobs one has lost its events and one its record. The first fails, the second is left for a repair, and the
// third goes on.
func TestDamagedJobsStopNobody(t *testing.T) {
	cfg := durableConfig(t)
	shown := make(chan struct{}, 3)
	before := newHarness(t, cfg, scripted(halfway(2, shown)))
	data := before.upload()
	noEvents := before.create(spec(data))
	noRecord := before.create(spec(data))
	good := before.create(spec(data))
	for _, id := range []string{noEvents, noRecord, good} {
		before.firstEvents(id, 2)
	}
	damage := store.Txn{Put: []store.Entry{{Key: records.EventKey(noEvents, 1), Value: []byte("no events")},
		{Key: records.JobKey(noRecord), Value: []byte("no record")}}}
	if _, err := before.c.state.Commit(t.Context(), damage); err != nil {
		t.Fatal(err)
	}
	before.crash()
	h := newHarness(t, cfg, scripted(steps(2)))
	if job := h.end(good); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job that is not damaged is %v", job)
	}
	if job := h.end(noEvents); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		job.GetError().GetReason() != events.Damaged {
		t.Errorf("the job without events is %v", job)
	}
	_, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: noRecord})
	wantError(t, err, codes.DataLoss, records.RecordDamaged)
	if _, err := h.c.state.Get(t.Context(), records.UnfinishedKey(noRecord)); err != nil {
		t.Errorf("the job without a record is no longer listed as unfinished: %v", err)
	}
}

// A store that is slow at first delays the start of a coordinator; one that refuses it does not.
func TestASlowStoreDelaysTheStart(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	for _, c := range []struct {
		err   error
		calls int
	}{
		{fault.New(fault.Unavailable, "STATE_UNAVAILABLE", "the state store does not answer now"), 3},
		{fault.New(fault.DataLoss, "STATE_DAMAGED", "the state store is damaged"), 1},
	} {
		calls := 0
		err := h.c.retry(t.Context(), "trying again", func() error {
			if calls++; calls < 3 {
				return c.err
			}
			return nil
		})
		if calls != c.calls || (err == nil) != (calls == 3) {
			t.Errorf("%v: %d calls, then %v", c.err, calls, err)
		}
	}
}
