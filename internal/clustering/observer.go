package clustering

// Observer hears what happens in a run. The order of events is part of the answer: it depends on nothing but the data
// and the spec.
type Observer interface {
	K(k KBegan)                    // one k of a range begins
	Restart(restart, restarts int) // one of several restarts begins; not called where there is only one
	Iteration(restart int, e HistoryEntry)
	Shift(s ShiftChange)
	Notice(n Notice)
	Solver(s SolverStep)
	Level(l LevelBegan)
	Trial(t Trial)     // a way was tried on one fold of the constraints
	Phase(phase Phase) // for live progress only
}

// SolverStep is one step of an eigensolver.
type SolverStep struct {
	Step, Products    int
	Residual          float64 // the largest of the wanted pairs
	Tolerance         float64 // what it has to come down to
	Converged, Wanted int
	StepsLeft         *int // an estimate; nil: there is none
}

// KBegan says that one number of clusters of a range is run: see package howmany.
type KBegan struct{ K, Min, Max int }

// LevelBegan says that a graph is refined on one of its levels (see package multilevel). The last one is 0, the graph itself.
type LevelBegan struct{ Level, Levels, Vertices int }

// Phase is a stage of a run.
type Phase uint8

// The phases of a run.
const (
	PhaseInitialize Phase = iota + 1
	PhaseIterate
)

// Notice is a warning that the data and the spec determine.
type Notice struct{ Code, Message string }

// ShiftChange says that a step was undone and the diagonal shifted.
type ShiftChange struct {
	Iteration int
	Sigma     float64
	Reason    string
}

// NopObserver ignores all events.
type NopObserver struct{}

// K implements Observer.
func (NopObserver) K(KBegan) {}

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
func (NopObserver) Level(LevelBegan) {}

// Trial implements Observer.
func (NopObserver) Trial(Trial) {}

// Phase implements Observer.
func (NopObserver) Phase(Phase) {}
