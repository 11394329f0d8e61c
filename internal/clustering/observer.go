package clustering

// Observer hears what happens, in the order the run determines.
type Observer interface {
	Restart(restart int) // only with several restarts
	Iteration(restart int, e Entry)
	Shift(s ShiftChange)
	Notice(n Notice)
	Solver(s SolverStep)
	Phase(phase Phase) // for live progress only
}

// SolverStep is one step of an eigensolver.
type SolverStep struct {
	Step, Products    int
	Residual          float64 // the largest of the wanted pairs
	Tolerance         float64 // what it has to come down to
	Converged, Wanted int
	StepsLeft         *int // about; nil: it cannot be told
}

// Phase is a stage of a run.
type Phase uint8

// The phases of a run.
const (
	PhaseInitialize Phase = iota + 1
	PhaseIterate
)

// Notice is a warning that the data and the spec determine.
type Notice struct{ Code, Message string }

// ShiftChange says that a step was undone and the diagonal shift set.
type ShiftChange struct {
	Iteration int
	Sigma     float64
	Why       string
}

// Silent is an observer that hears nothing.
type Silent struct{}

// Restart implements Observer.
func (Silent) Restart(int) {}

// Iteration implements Observer.
func (Silent) Iteration(int, Entry) {}

// Shift implements Observer.
func (Silent) Shift(ShiftChange) {}

// Notice implements Observer.
func (Silent) Notice(Notice) {}

// Solver implements Observer.
func (Silent) Solver(SolverStep) {}

// Phase implements Observer.
func (Silent) Phase(Phase) {}
