package clustering

import (
	"context"
	"slices"
)

// Job is a problem on its executor, ready to run.
type Job interface {
	// Notices are the warnings that are known before anything runs.
	Notices() []Notice
	// Begin prepares what all restarts share.
	Begin(ctx context.Context, o Observer) (Family, error)
}

// Family is what the restarts of one job share, and how their requests reach the executor.
type Family interface {
	// K is the number of clusters.
	K() int
	// Restarts is how many runs there are, and Lanes how many of them go side by side.
	Restarts() int
	Lanes() int
	// MaxIterations is after how many iterations a run ends.
	MaxIterations() int
	// Method is a new run, in the given lane.
	Method(restart int, lane *Lane, o Observer) Method
	// Serve answers at least one of the requests, and returns the indices of those it answered.
	Serve(ctx context.Context, requests []LaneRequest) (answered []int)
	// FillResult adds to the result of the best restart what all restarts share.
	FillResult(r *Result)
}

// Run is the one loop of all families. It runs every restart until it stops; the lowest final value wins, and of
// equal ones the first restart. When the context ends, the labels so far are the result, if there are any.
func Run(ctx context.Context, j Job, o Observer) (*Result, error) {
	for _, notice := range j.Notices() {
		o.Notice(notice)
	}
	o.Phase(PhaseInitialize)
	family, err := j.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return RunFamily(ctx, family, o)
}

// RunFamily is Run for a family that has begun.
func RunFamily(ctx context.Context, family Family, o Observer) (*Result, error) {
	result, err := newRestarts(family, o).run(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		result.StopReason = StopCanceled
	}
	result.ClusterSizes = make([]int, family.K())
	for _, c := range result.Labels {
		result.ClusterSizes[c]++
	}
	family.FillResult(result)
	for _, notice := range answerNotices(result) {
		result.Warnings = append(result.Warnings, notice)
		o.Notice(notice)
	}
	return result, nil
}

// attempt is one restart, from its start until it stops.
type attempt struct {
	restart int
	result  *Result // nil: it ended before it had labels
	value   float64 // the final Method.Value
}

// run is the loop of one restart. An error means that there is no result.
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
			result.StopReason = StopCanceled
			break
		}
		record(report)
		result.StopReason = report.Stop
	}
	result.Labels = slices.Clone(m.Labels())
	m.FillResult(result)
	a.result, a.value = result, m.Value()
	return nil
}

// better tells whether a wins over b: by the lower value, of equal ones by the lower restart number.
func (a *attempt) better(b *attempt) bool {
	return a.value < b.value || (a.value == b.value && a.restart < b.restart)
}

// complete tells whether every point has a label. In a run that is canceled before its first assignment not all do.
func complete(labels []int32) bool {
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(c int32) bool { return c < 0 })
}
