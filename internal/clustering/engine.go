package clustering

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
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
)

func (r StopReason) String() string {
	return [...]string{"", "CONVERGED", "MAX_ITERATIONS", "TOLERANCE", "RISE", "CYCLE", "CANCELLED"}[r]
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

// Run is the one loop: every restart from its start until it stops; the best final value wins, ties
// by restart number. When the context ends, the labels so far are the result, if there are any.
func Run(ctx context.Context, p *Problem, x Executor, o Observer) (*Result, error) {
	for _, notice := range p.Warnings {
		o.Notice(notice)
	}
	o.Phase(PhaseInitialise)
	family, err := newKernelFamily(ctx, p, x, o)
	if err != nil {
		return nil, err
	}
	restarts := p.restarts()
	if restarts < p.spec.Restarts {
		family.notice(o, "RESTARTS_ARE_EQUAL", "the start does not depend on chance, so all restarts would be the same run; it runs once")
	}
	best, err := newEnsemble(family, restarts, o).run(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		best.StopReason = StopCancelled
	}
	best.Warnings = family.notices
	best.ObjectiveName = p.Objective.String()
	best.Rho = p.Rho()
	best.Satisfaction = p.Constraints.Satisfaction(best.Labels)
	best.ClusterSizes = make([]int, p.spec.K)
	for _, c := range best.Labels {
		best.ClusterSizes[c]++
	}
	return best, nil
}

// restarts is how many runs there will be: starts without randomness are all the same one.
func (p *Problem) restarts() int {
	if !p.start().random() {
		return 1
	}
	return max(1, p.spec.Restarts)
}

// rowsPerLaneK bounds the lanes so that all their sums take at most an eighth of a stored matrix: a row
// has 8 bytes for each of lanes * k clusters, and 4 for each of n columns.
const rowsPerLaneK = 16

// Lanes is how many restarts run side by side, sharing each reading of the matrix. The answer does not
// depend on it. A sweep of a graph reads little more than what its own moves touch: nothing to share.
func (p *Problem) Lanes() int {
	if p.Matrix.Function == kernel.Adjacency {
		return 1
	}
	lanes := min(p.restarts(), kernel.MostLanes, p.n/(rowsPerLaneK*p.spec.K))
	if p.MostLanes > 0 {
		lanes = min(lanes, p.MostLanes)
	}
	return max(1, lanes)
}

// attempt is one restart, from its start until it stops.
type attempt struct {
	restart int
	result  *Result // nil: it ended before it had labels
	value   float64 // of the result, as it is minimised
}

// run is the restart's own loop. It returns an error only when there is no result for it.
func (a *attempt) run(ctx context.Context, m Method, maxIterations int, o Observer) error {
	report, err := m.Init(ctx)
	if err != nil {
		return err
	}
	result := &Result{Restart: a.restart}
	record := func(report Report) {
		if report.Entry != nil {
			result.History = append(result.History, *report.Entry)
			result.Iterations, result.Objective = report.Entry.Iteration, report.Entry.Objective
			o.Iteration(a.restart, *report.Entry)
		}
		if report.Shift != nil {
			result.Shifts = append(result.Shifts, *report.Shift)
			o.Shift(*report.Shift)
		}
		for _, notice := range report.Notices {
			result.Warnings = append(result.Warnings, notice)
			o.Notice(notice)
		}
	}
	record(report)
	o.Phase(PhaseIterate)
	for result.StopReason == 0 {
		if result.Iterations >= maxIterations {
			result.StopReason = StopMaxIterations
			break
		}
		report, err := m.Step(ctx)
		if err != nil {
			if ctx.Err() == nil {
				return err
			}
			result.StopReason = StopCancelled
			break
		}
		record(report)
		result.StopReason = report.Stop
	}
	result.Labels = slices.Clone(m.Labels())
	m.Conclude(result)
	a.result, a.value = result, m.Value()
	return nil
}

// better compares results: the lower value wins, ties by restart number.
func (a *attempt) better(b *attempt) bool {
	return a.value < b.value || (a.value == b.value && a.restart < b.restart)
}
