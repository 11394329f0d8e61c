package jobs

import (
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// flushEvents makes events durable and records how long that took.
func (m *Manager) flushEvents(txn store.Txn) error {
	defer m.d.Observe.EventFlush(time.Now())
	err := m.d.Writer.Commit(txn)
	if store.AnswerOf(err) == store.NoSpace {
		m.d.Logger.Warn("the events of a job cannot be stored yet", "error", err)
	}
	return err
}

// observeEnd records in metrics and traces how a job ended.
func (j *Job) observeEnd(d decision) {
	reason := shortName(d.stopReason(), "STOP_REASON_")
	if d.failure != nil {
		reason = d.failure.Reason
	}
	j.observed.Ended(strings.ToLower(shortName(d.state, "JOB_STATE_")), reason,
		d.state == cleavev1.JobState_JOB_STATE_FAILED)
}

// shortName returns the name of an enum value without the prefix that all values share.
func shortName(value interface{ String() string }, prefix string) string {
	return strings.TrimPrefix(value.String(), prefix)
}

// observer receives what happens in a run. What is deterministic goes to the event log, everything else to the live
// progress. It also measures the time spent in each phase. The run and the fleet call it concurrently.
type observer struct {
	job *Job
	now func() time.Time

	// mu guards the fields below.
	mu      sync.Mutex
	began   time.Time
	phase   cleavev1.Phase // phase of the run, even while the fleet rebuilds tiles
	since   time.Time
	spent   map[cleavev1.Phase]time.Duration
	workers int
}

var _ clustering.Observer = (*observer)(nil)

func newObserver(j *Job, now func() time.Time) *observer {
	began := now()
	return &observer{job: j, now: now, began: began, since: began, spent: map[cleavev1.Phase]time.Duration{}}
}

// enter begins a phase of the run.
func (o *observer) enter(phase cleavev1.Phase) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	o.spent[o.phase] += now.Sub(o.since)
	o.phase, o.since = phase, now
	o.job.observed.Phase(strings.ToLower(shortName(phase, "PHASE_")))
	o.job.progress.Enter(phase, "")
}

// report receives the status of the fleet, which may rebuild tiles at any time during a run.
func (o *observer) report(s fleet.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workers = max(o.workers, s.Workers)
	o.job.setWaiting(s.Waiting)
	o.job.progress.Tiles(s.Workers, s.TilesBuilt, s.Tiles)
	switch {
	case s.Waiting != "":
		o.job.progress.Enter(cleavev1.Phase_PHASE_WAITING, s.Waiting)
	case s.TilesBuilt < s.Tiles:
		o.job.progress.Enter(cleavev1.Phase_PHASE_BUILDING, "")
	default:
		o.job.progress.Enter(o.phase, "")
	}
}

func (o *observer) maxWorkers() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.workers
}

func (o *observer) timings() *cleavev1.Timings {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	o.spent[o.phase] += now.Sub(o.since)
	o.since = now
	return &cleavev1.Timings{
		Load:       durationpb.New(o.spent[cleavev1.Phase_PHASE_LOADING]),
		Build:      durationpb.New(o.spent[cleavev1.Phase_PHASE_BUILDING]),
		Initialize: durationpb.New(o.spent[cleavev1.Phase_PHASE_INITIALIZING]),
		Iterate:    durationpb.New(o.spent[cleavev1.Phase_PHASE_ITERATING]),
		Total:      durationpb.New(now.Sub(o.began)),
	}
}

// log appends an event and shows it. It cancels a run that does not repeat the events of its earlier attempt.
func (o *observer) log(e *cleavev1.Event) {
	if err := o.job.log.Append(e); err != nil {
		o.job.cancel(err)
	}
	o.job.progress.Show(e)
}

func (o *observer) Observe(e clustering.Event) {
	switch e := e.(type) {
	case clustering.KStarted:
		o.log(&cleavev1.Event{What: &cleavev1.Event_K{K: wire.KStartedProto(e)}})
	case clustering.RestartStarted:
		o.job.progress.RestartStarted(e.Restart, e.Restarts)
		o.log(
			&cleavev1.Event{
				What: &cleavev1.Event_Restart{Restart: &cleavev1.RestartStarted{Restart: uint32(e.Restart)}}})
	case clustering.IterationDone:
		o.log(
			&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: wire.IterationProto(e.Restart, e.HistoryEntry)}})
		o.job.observed.Iteration(e.Restart, e.Iteration, e.Objective)
	case clustering.ShiftChange:
		o.log(&cleavev1.Event{What: &cleavev1.Event_Shift{Shift: wire.ShiftProto(e)}})
	case clustering.SolverStep:
		o.log(&cleavev1.Event{What: &cleavev1.Event_Solver{Solver: wire.SolverStepProto(e)}})
	case clustering.LevelStarted:
		o.log(&cleavev1.Event{What: &cleavev1.Event_Level{Level: wire.LevelProto(e)}})
	case clustering.MethodTried:
		o.log(&cleavev1.Event{What: &cleavev1.Event_MethodTried{MethodTried: wire.MethodTriedProto(e.Trial)}})
	case clustering.Notice:
		o.log(&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: wire.NoticeProto(e)}})
	case clustering.Phase:
		switch e {
		case clustering.PhaseInitialize:
			o.enter(cleavev1.Phase_PHASE_INITIALIZING)
		case clustering.PhaseIterate:
			o.enter(cleavev1.Phase_PHASE_ITERATING)
		}
	}
}
