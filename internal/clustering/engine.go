package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

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

// Model is what new points can be assigned by: in the coordinates of the data, or of its rows as the
// distortion prepares them.
type Model struct {
	Distortion metric.Distortion
	K, D       int
	Centroids  []float64 // k x d
	Metric     *metric.Metric
}

// Inference is about the last time that constrained points were assigned together.
type Inference struct {
	Engine    inference.Engine
	Exact     bool
	LPValue   *float64 // a lower bound of the objective then, unconstrained points included
	Fallbacks int
	Rounds    int
}

// ShiftChange says that a step was undone and the diagonal shift set.
type ShiftChange struct {
	Iteration int
	Sigma     float64
	Why       string
}

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
	PhaseInitialise Phase = iota + 1
	PhaseIterate
)

// Result is the answer.
type Result struct {
	Labels        []int32
	StopReason    StopReason
	Iterations    int
	ObjectiveName string
	Objective     float64
	History       []Entry
	Shifts        []ShiftChange
	Warnings      []Notice
	Sigma         float64
	Rho           float64
	Restart       int
	Satisfaction  constraint.Satisfaction
	ClusterSizes  []int
	Model         *Model     // vector family
	Inference     *Inference // of the methods that do any
	Spectral      *SpectralReport
	Embedding     *Embedding // spectral family
}
