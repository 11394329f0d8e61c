package clustering

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
