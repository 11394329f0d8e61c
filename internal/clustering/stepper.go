package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

// Report describes what one step did.
type Report struct {
	Entry *HistoryEntry // the accepted step; nil if the step was not accepted
	Shift *ShiftChange  // nil if the shift did not change
	Stop  StopReason    // why the run stops; 0 if it continues
	// Notices holds the warnings of this step.
	Notices []Notice
}

// Stepper is one run of an algorithm as a state machine. Call Init or Restore once, then Step until Report.Stop is set
// or Step fails. After that only Labels, Value and FillResult may be called. If Step fails, the labels are those of the
// last report. One goroutine uses a stepper at a time, not always the same one. A stepper blocks only on its executor,
// logs nothing, and reads no clock. A step is an iteration in the sense of Spec.MaxIterations.
type Stepper interface {
	// Init computes the initial labels.
	Init(ctx context.Context) (Report, error)
	// Step runs one iteration.
	Step(ctx context.Context) (Report, error)
	// Labels returns the current labels, which are valid until the next Step.
	Labels() []int32
	// Value returns the current objective in the form that is minimized: the restart with the lowest value wins.
	Value() float64
	// FillResult adds what only the stepper knows to the result.
	FillResult(r *Result)
}

// Resumable is a stepper whose state between two steps can be saved, so that another process can continue it.
type Resumable interface {
	Stepper
	// Save writes the state.
	Save(w *snapshot.Writer)
	// Restore replaces Init: it reads a state written by Save and restores the executor accordingly. If r does not
	// hold a state of this stepper, it returns snapshot.ErrDamaged without having used the executor.
	Restore(ctx context.Context, r *snapshot.Reader) error
}

// StopReason is why a run stopped; 0 means that it has not.
type StopReason uint8

// The stop reasons.
const (
	StopConverged     StopReason = iota + 1 // a step changed no label
	StopMaxIterations                       // the run reached Spec.MaxIterations
	StopTolerance                           // the objective changed by no more than Spec.Tolerance
	StopRise                                // a step raised the objective and was undone
	StopCycle                               // a labeling occurred a second time
	StopCanceled                            // the context ended
	StopMaxProducts                         // an eigensolver reached its limit of products before it converged
)

func (r StopReason) String() string {
	return text.Name(r, "", "CONVERGED", "MAX_ITERATIONS", "TOLERANCE", "RISE", "CYCLE", "CANCELLED", "MAX_PRODUCTS")
}

// HistoryEntry records an accepted step of a run or, as iteration 0 of kernel k-means, its initial labels.
type HistoryEntry struct {
	Iteration int
	Objective float64
	Moved     int
	// AssignmentObjective is the objective after points were assigned, before centroids and metric were updated; nil
	// outside the k-means family.
	AssignmentObjective *float64
	// Parts holds the terms of Objective; nil if it has a single term.
	Parts *ObjectiveParts
}

// ObjectiveParts holds the terms of objective = Distortion + MustLink + CannotLink - LogDet.
type ObjectiveParts struct {
	metric.Parts
	Violated int     // number of constraints that the labels violate
	Spread   float64 // ratio of the largest to the smallest eigenvalue of the metric
}
