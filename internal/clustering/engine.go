package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/constraint"
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

// Entry is one line of a run's history: the start (iteration 0) or an accepted step.
type Entry struct {
	Iteration int
	Objective float64
	Moved     int
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
}

// Method is one algorithm as a state machine. It blocks on nothing but the executor, logs nothing,
// and knows no clock. One Step is one iteration that a user would recognise.
type Method interface {
	// Init makes the first labels.
	Init(ctx context.Context, x Executor) (Report, error)
	// Step is one iteration.
	Step(ctx context.Context, x Executor) (Report, error)
	// Labels are the current labels.
	Labels() []int32
	// Value is the current objective as it is minimised, to compare restarts by.
	Value() float64
	// Shift is the diagonal shift in force.
	Shift() float64
}

// Observer hears what happens, in the order the run determines.
type Observer interface {
	Restart(restart int) // only with several restarts
	Iteration(restart int, e Entry)
	Shift(s ShiftChange)
	Notice(n Notice)
	Phase(phase Phase) // for live progress only
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
	var best *Result
	bestValue := 0.0
	restarts := p.restarts(family, o)
	for restart := range restarts {
		if restarts > 1 {
			o.Restart(restart)
		}
		result, value, err := runOnce(ctx, p, family, x, restart, o)
		if err != nil && (ctx.Err() == nil || best == nil) {
			return nil, err
		}
		if err == nil && (best == nil || value < bestValue) {
			best, bestValue = result, value
		}
		if ctx.Err() != nil {
			best.StopReason = StopCancelled
			break
		}
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
func (p *Problem) restarts(family *kernelFamily, o Observer) int {
	restarts := max(1, p.spec.Restarts)
	if restarts > 1 && !p.start().random() {
		family.notice(o, "RESTARTS_ARE_EQUAL", "the start does not depend on chance, so all restarts would be the same run; it runs once")
		return 1
	}
	return restarts
}

func runOnce(ctx context.Context, p *Problem, family *kernelFamily, x Executor, restart int, o Observer) (*Result, float64, error) {
	m, result := family.method(restart), &Result{Restart: restart}
	record := func(report Report) {
		if report.Entry != nil {
			result.History = append(result.History, *report.Entry)
			result.Iterations, result.Objective = report.Entry.Iteration, report.Entry.Objective
			o.Iteration(restart, *report.Entry)
		}
		if report.Shift != nil {
			result.Shifts = append(result.Shifts, *report.Shift)
			o.Shift(*report.Shift)
		}
	}
	report, err := m.Init(ctx, x)
	if err != nil {
		return nil, 0, err
	}
	record(report)
	if restart == 0 {
		family.warnLopsided(o, m.Labels())
	}
	o.Phase(PhaseIterate)
	for result.StopReason == 0 {
		if result.Iterations >= p.spec.MaxIterations {
			result.StopReason = StopMaxIterations
			break
		}
		report, err := m.Step(ctx, x)
		if err != nil {
			if ctx.Err() == nil {
				return nil, 0, err
			}
			result.StopReason = StopCancelled
			break
		}
		record(report)
		result.StopReason = report.Stop
	}
	result.Labels = append([]int32(nil), m.Labels()...)
	result.Sigma = m.Shift()
	return result, m.Value(), nil
}
