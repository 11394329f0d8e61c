package clustering

import (
	"context"
	"slices"
)

// Job is a problem on its executor, ready to run.
type Job interface {
	// Notices are what there is to warn of before anything runs.
	Notices() []Notice
	// Begin does what all restarts share.
	Begin(ctx context.Context, o Observer) (Family, error)
}

// Family is what the restarts of one job share, and how they ask the executor.
type Family interface {
	// K is the number of clusters.
	K() int
	// Restarts is how many runs there are, and Lanes how many of them go side by side.
	Restarts() int
	Lanes() int
	// MaxIterations ends a run.
	MaxIterations() int
	// Method is a fresh run, in a lane of its own.
	Method(restart int, lane *Lane, o Observer) Method
	// Serve answers at least one of the requests that wait, and returns the places of those it answered.
	Serve(ctx context.Context, asked []Asked) (answered []int)
	// Conclude adds to the result what is the same for all restarts.
	Conclude(r *Result)
}

// RunJob is the one loop of all families: every restart from its start until it stops; the best final
// value wins, ties by restart number. When the context ends, the labels so far are the result, if there
// are any.
func Run(ctx context.Context, j Job, o Observer) (*Result, error) {
	for _, notice := range j.Notices() {
		o.Notice(notice)
	}
	o.Phase(PhaseInitialize)
	family, err := j.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	result, err := newRestarts(family, o).run(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		result.StopReason = StopCancelled
	}
	result.ClusterSizes = make([]int, family.K())
	for _, c := range result.Labels {
		result.ClusterSizes[c]++
	}
	family.Conclude(result)
	return result, nil
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

// complete tells whether every point has a label: a run that is cancelled before its first assignment
// has not.
func complete(labels []int32) bool {
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(c int32) bool { return c < 0 })
}
