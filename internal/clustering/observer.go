package clustering

import (
	"sync"

	"github.com/cleave-project/cleave/internal/text"
)

// Observer receives the events of a run. Calls are never concurrent, and their order depends only on the data and the
// spec.
type Observer interface{ Observe(e Event) }

// Event is something that happens during a run: a KStarted, RestartStarted, IterationDone, ShiftChange, Notice,
// SolverStep, LevelStarted, MethodTried or Phase. The linter checks that every switch over events has all of them.
//
//sumtype:decl
type Event interface{ event() }

func (KStarted) event()       {}
func (RestartStarted) event() {}
func (IterationDone) event()  {}
func (ShiftChange) event()    {}
func (Notice) event()         {}
func (SolverStep) event()     {}
func (LevelStarted) event()   {}
func (MethodTried) event()    {}
func (Phase) event()          {}

// NopObserver ignores all events.
type NopObserver struct{}

// Observe implements Observer.
func (NopObserver) Observe(Event) {}

// noticeLog passes events on and keeps the notices among them.
type noticeLog struct {
	observer Observer
	notices  []Notice
}

// Observe implements Observer.
func (l *noticeLog) Observe(e Event) {
	if notice, is := e.(Notice); is {
		l.notices = append(l.notices, notice)
	}
	l.observer.Observe(e)
}

// RestartStarted reports that one of several restarts begins, counted from 0. There is no such event if there is only
// one.
type RestartStarted struct{ Restart, Restarts int }

// IterationDone reports an iteration of a restart.
type IterationDone struct {
	Restart int
	HistoryEntry
}

// MethodTried reports how a method did with one fold of the constraints held out.
type MethodTried struct{ Trial }

// SolverStep describes one step of an eigensolver.
type SolverStep struct {
	Step, Products    int
	Residual          float64 // the largest among the wanted eigenpairs
	Tolerance         float64 // the residual at which the solver stops
	Converged, Wanted int
	StepsLeft         *int // estimated number of remaining steps; nil if there is no estimate
}

// KStarted reports that the run for one number of clusters of a range begins; see package krange.
type KStarted struct{ K, Min, Max int }

// LevelStarted reports that the refinement of a graph moved on to a level; see package multilevel. Levels count down to
// 0, the given graph.
type LevelStarted struct{ Level, Levels, Vertices int }

// Phase is a stage of a run. Phases are events for live progress only.
type Phase uint8

// The phases of a run.
const (
	PhaseInitialize Phase = iota + 1
	PhaseIterate
)

// Notice is a warning to the user. It depends only on the data and the spec. Code is a stable identifier. If the
// message refers to rows or columns, Parts is the same message with the references as data; otherwise Parts is nil.
type Notice struct {
	Code, Message string
	Parts         text.Message
}

// NewNotice returns a notice that refers to rows or columns.
func NewNotice(code string, parts ...text.Part) Notice {
	return Notice{Code: code, Message: text.Message(parts).String(), Parts: parts}
}

// ShiftChange reports that a step was undone and the diagonal shift was set to Sigma.
type ShiftChange struct {
	Iteration int
	Sigma     float64
	Reason    string
}

// orderedObserver delivers the events of concurrent restarts as if the restarts ran one after another. Events of the
// current restart, which is the first that has not ended, are delivered immediately; those of later restarts are held
// back until all earlier restarts have ended.
type orderedObserver struct {
	observer Observer
	mu       *sync.Mutex // held by Observe while the observer is called; shared by all jobs
	current  int
	restarts []restartObserver
}

// restartObserver receives the events of one restart.
type restartObserver struct {
	ordered *orderedObserver
	restart int
	pending []Event // held back
	ended   bool
}

func newOrderedObserver(observer Observer, restarts int, mu *sync.Mutex) *orderedObserver {
	o := &orderedObserver{observer: observer, mu: mu, restarts: make([]restartObserver, restarts)}
	for restart := range o.restarts {
		o.restarts[restart] = restartObserver{ordered: o, restart: restart}
	}
	return o
}

func (o *orderedObserver) of(restart int) Observer { return &o.restarts[restart] }

// end marks a restart as ended and delivers the events that were held back for it.
func (o *orderedObserver) end(restart int) {
	o.restarts[restart].ended = true
	for o.current < len(o.restarts) && o.restarts[o.current].ended {
		o.current++
		if o.current < len(o.restarts) {
			next := &o.restarts[o.current]
			for _, event := range next.pending {
				o.observer.Observe(event)
			}
			next.pending = nil
		}
	}
}

func (r *restartObserver) Observe(e Event) {
	if r.restart == r.ordered.current {
		r.ordered.mu.Lock()
		defer r.ordered.mu.Unlock()
		r.ordered.observer.Observe(e)
		return
	}
	r.pending = append(r.pending, e)
}
