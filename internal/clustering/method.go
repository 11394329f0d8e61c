package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Report is what one step of a method did.
type Report struct {
	Entry *HistoryEntry // nil: nothing was accepted
	Shift *ShiftChange  // nil: the shift did not change
	Stop  StopReason    // 0: go on
	// Notices are the warnings of this step.
	Notices []Notice
}

// Method is one run of an algorithm as a state machine. It blocks on nothing but its executor, logs
// nothing, and knows no clock. One Step is one iteration as users know it.
type Method interface {
	// Init makes the first labels.
	Init(ctx context.Context) (Report, error)
	// Step is one iteration.
	Step(ctx context.Context) (Report, error)
	// Labels are the current labels.
	Labels() []int32
	// Value is the current objective in the form that is minimized: the restart with the lowest wins.
	Value() float64
	// FillResult adds to the result what only the method knows.
	FillResult(r *Result)
}

// Resumable is a method that another process can go on with, from its state between two steps.
type Resumable interface {
	Method
	// Save writes the state.
	Save(w *snapshot.Writer)
	// Restore takes the place of Init: it reads a state, and gives the executor what it held then. It is
	// snapshot.ErrDamaged, before anything is asked of the executor, if that is not a state of this method.
	Restore(ctx context.Context, r *snapshot.Reader) error
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
	StopCanceled
	StopMaxProducts // an eigensolver came to the limit of its products before it converged
)

func (r StopReason) String() string {
	return [...]string{"", "CONVERGED", "MAX_ITERATIONS", "TOLERANCE", "RISE", "CYCLE", "CANCELLED", "MAX_PRODUCTS"}[r]
}

// HistoryEntry is one line of a run's history: an accepted step, or the start, which is iteration 0 of kernel k-means.
type HistoryEntry struct {
	Iteration int
	Objective float64
	Moved     int
	// Of k-means and its relatives: the objective once points were assigned, before means and metric were updated, and
	// the parts of Objective where it has any.
	AssignmentObjective *float64
	Parts               *ObjectiveParts
}

// ObjectiveParts are the terms of objective = Distortion + MustLink + CannotLink - LogDet.
type ObjectiveParts struct {
	metric.Parts
	Violated int     // constraints that the labels violate
	Spread   float64 // largest over smallest eigenvalue of the metric
}
