package coordinator

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/wire"
)

// observer listens to a run: what the run determines goes to the event log, everything else to
// the board, and the time spent in each phase is kept.
type observer struct {
	job *job
	now func() time.Time

	mu      sync.Mutex
	began   time.Time
	phase   cleavev1.Phase // the run's own, whatever the fleet is busy with
	since   time.Time
	spent   map[cleavev1.Phase]time.Duration
	workers int
}

var _ clustering.Observer = (*observer)(nil)

func newObserver(j *job, now func() time.Time) *observer {
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
	o.job.board.enter(phase, "")
}

// report is called by the fleet, which may have to build tiles again in the middle of a run.
func (o *observer) report(s fleet.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workers = max(o.workers, s.Workers)
	o.job.wait(s.Waiting)
	o.job.board.tiles(s.Workers, s.TilesBuilt, s.Tiles)
	switch {
	case s.Waiting != "":
		o.job.board.enter(cleavev1.Phase_PHASE_WAITING, s.Waiting)
	case s.TilesBuilt < s.Tiles:
		o.job.board.enter(cleavev1.Phase_PHASE_BUILDING, "")
	default:
		o.job.board.enter(o.phase, "")
	}
}

func (o *observer) mostWorkers() int {
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

// log appends an event; a run that contradicts what it said before is stopped.
func (o *observer) log(e *cleavev1.Event) {
	if err := o.job.log.append(e); err != nil {
		o.job.cancel(err)
	}
}

// Restart implements clustering.Observer.
func (o *observer) Restart(restart int) {
	o.log(&cleavev1.Event{What: &cleavev1.Event_Restart{Restart: &cleavev1.RestartBegan{Restart: uint32(restart)}}})
}

// Iteration implements clustering.Observer.
func (o *observer) Iteration(restart int, e clustering.Entry) {
	iteration := wire.IterationProto(restart, e)
	o.log(&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: iteration}})
	o.job.board.step(iteration)
}

// Shift implements clustering.Observer.
func (o *observer) Shift(s clustering.ShiftChange) {
	o.log(&cleavev1.Event{What: &cleavev1.Event_Shift{Shift: wire.ShiftProto(s)}})
}

// Solver implements clustering.Observer.
func (o *observer) Solver(s clustering.SolverStep) {
	step := wire.SolverStepProto(s)
	o.log(&cleavev1.Event{What: &cleavev1.Event_Solver{Solver: step}})
	o.job.board.solverStep(step)
}

// Notice implements clustering.Observer.
func (o *observer) Notice(n clustering.Notice) {
	o.log(&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: wire.NoticeProto(n)}})
}

// Phase implements clustering.Observer.
func (o *observer) Phase(phase clustering.Phase) {
	switch phase {
	case clustering.PhaseInitialize:
		o.enter(cleavev1.Phase_PHASE_INITIALIZING)
	case clustering.PhaseIterate:
		o.enter(cleavev1.Phase_PHASE_ITERATING)
	}
}
