package clustering

import "github.com/cleave-project/cleave/internal/text"

// Observer receives the events of a run. Calls are never concurrent, and their order depends only on the data and the
// spec.
type Observer interface {
	K(k KStarted)                  // the run for one k of a range begins
	Restart(restart, restarts int) // one of several restarts begins, counted from 0; not called if there is only one
	Iteration(restart int, e HistoryEntry)
	Shift(s ShiftChange)
	Notice(n Notice)
	Solver(s SolverStep)
	Level(l LevelStarted)
	Trial(t Trial)     // a method was tried with one fold of the constraints held out
	Phase(phase Phase) // for live progress only
}

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

// Phase is a stage of a run.
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

// NopObserver ignores all events.
type NopObserver struct{}

// K implements Observer.
func (NopObserver) K(KStarted) {}

// Restart implements Observer.
func (NopObserver) Restart(int, int) {}

// Iteration implements Observer.
func (NopObserver) Iteration(int, HistoryEntry) {}

// Shift implements Observer.
func (NopObserver) Shift(ShiftChange) {}

// Notice implements Observer.
func (NopObserver) Notice(Notice) {}

// Solver implements Observer.
func (NopObserver) Solver(SolverStep) {}

// Level implements Observer.
func (NopObserver) Level(LevelStarted) {}

// Trial implements Observer.
func (NopObserver) Trial(Trial) {}

// Phase implements Observer.
func (NopObserver) Phase(Phase) {}
