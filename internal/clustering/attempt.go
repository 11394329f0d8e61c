package clustering

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// attempt is one restart, from its start until it stops. Its state is kept after every step, so that another process can go
// on from there.
type attempt struct {
	ctx     context.Context
	family  Family
	restart int
	heard   *recorder
	piece   *snapshot.Piece
	method  Method
	notices []Notice  // those of the method's reports
	result  *Result   // nil: it ended before it had labels, or another process found that it did not win
	value   float64   // the final Method.Value
	found   *Labeling // the final labels; nil: there are none, or nobody asks for them
}

func newAttempt(ctx context.Context, f Family, restart int, o Observer) *attempt {
	name := fmt.Sprint("restart ", restart)
	return &attempt{ctx: snapshot.Within(ctx, name), family: f, restart: restart, heard: &recorder{observer: o}, piece: snapshot.Open(ctx, name)}
}

// run is the loop of one restart. An error means that there is no result.
func (a *attempt) run(lane *Lane) error {
	result, known, err := a.restore(lane)
	if err == nil && !known {
		result, err = a.begin(lane)
	}
	if err != nil || result == nil {
		return err
	}
	a.heard.Phase(PhaseIterate)
	for result.StopReason == 0 {
		if result.Iterations >= a.family.MaxIterations() {
			result.StopReason = StopMaxIterations
			break
		}
		a.offer()
		report, err := a.method.Step(a.ctx)
		if err != nil {
			if a.ctx.Err() == nil {
				return err
			}
			result.StopReason = StopCanceled
			break
		}
		a.record(result, report)
		result.StopReason = report.Stop
	}
	result.Labels = slices.Clone(a.method.Labels())
	a.method.FillResult(result)
	a.result, a.value = result, a.method.Value()
	if a.family.KeepsRuns() && Complete(result.Labels) {
		found := NewLabeling(result.Labels, a.family.K())
		a.found = &found
	}
	return nil
}

// begin makes the first labels.
func (a *attempt) begin(lane *Lane) (*Result, error) {
	if restarts := a.family.Restarts(); restarts > 1 {
		a.heard.Restart(a.restart, restarts)
	}
	a.method = a.family.Method(a.restart, lane, a.heard)
	report, err := a.method.Init(a.ctx)
	if err != nil {
		return nil, err
	}
	result := &Result{Restart: a.restart}
	a.record(result, report)
	return result, nil
}

// record adds a report to the result, and tells the observer.
func (a *attempt) record(result *Result, report Report) {
	if report.Entry != nil {
		result.History = append(result.History, *report.Entry)
		result.Iterations, result.Objective = report.Entry.Iteration, report.Entry.Objective
		a.heard.Iteration(a.restart, *report.Entry)
	}
	if report.Shift != nil {
		result.Shifts = append(result.Shifts, *report.Shift)
		a.heard.Shift(*report.Shift)
	}
	for _, notice := range report.Notices {
		result.Warnings = append(result.Warnings, notice)
		a.heard.Notice(notice)
	}
	a.notices = result.Warnings
}

// better tells whether a wins over b: by the lower value, of equal ones by the lower restart number.
func (a *attempt) better(b *attempt) bool {
	return a.value < b.value || (a.value == b.value && a.restart < b.restart)
}

// Complete tells whether every point has a label. In a run that is canceled before its first assignment not all do.
func Complete(labels []int32) bool {
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(c int32) bool { return c < 0 })
}
