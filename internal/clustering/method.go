package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/metric"
)

// Report is what one step of a method did.
type Report struct {
	Entry *Entry       // nil: nothing was accepted
	Shift *ShiftChange // nil: the shift did not change
	Stop  StopReason   // 0: go on
	// Notices are what the step has to warn of.
	Notices []Notice
}

// Method is one run of an algorithm as a state machine. It blocks on nothing but its executor, logs
// nothing, and knows no clock. One Step is one iteration that a user would recognise.
type Method interface {
	// Init makes the first labels.
	Init(ctx context.Context) (Report, error)
	// Step is one iteration.
	Step(ctx context.Context) (Report, error)
	// Labels are the current labels.
	Labels() []int32
	// Value is the current objective as it is minimised, to compare restarts by.
	Value() float64
	// Conclude adds to the result what only the method knows.
	Conclude(r *Result)
}

// StopReason is why a run ended.
type StopReason uint8

// The stop reasons.
const (
	StopConverged StopReason = iota + 1
	StopMaxIterations
	StopTolerance
	StopRise
	StopCycle
	StopCancelled
	StopMaxProducts // an eigensolver came to the limit of its products before it converged
)

func (r StopReason) String() string {
	return [...]string{"", "CONVERGED", "MAX_ITERATIONS", "TOLERANCE", "RISE", "CYCLE", "CANCELLED", "MAX_PRODUCTS"}[r]
}

// Entry is one line of a run's history: the start (iteration 0, kernel family only) or an accepted
// step.
type Entry struct {
	Iteration int
	Objective float64
	Moved     int
	// Vector family: the objective after the points were assigned, before means and metric were taken
	// anew; and its parts, of the methods that have them.
	AssignmentObjective *float64
	Parts               *Parts
}

// Parts are the terms of objective = Distortion + MustLink + CannotLink - LogDet.
type Parts struct {
	metric.Parts
	Violated int     // constraints
	Spread   float64 // of the metric: its largest eigenvalue over its smallest
}
