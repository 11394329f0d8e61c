package clustering

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// attempt runs one restart from its initial labels until it stops. It saves its state before every step, so that
// another process can continue from there.
type attempt struct {
	ctx      context.Context
	setup    Setup
	restart  int
	recorder *recorder
	piece    *snapshot.Piece
	saved    int // bytes of the last saved state
	stepper  Stepper
	notices  []Notice  // all notices reported by the stepper so far
	result   *Result   // nil if it ended without labels, or if an earlier process found that it did not win
	value    float64   // Stepper.Value at the end
	found    *Labeling // the final labels; nil if there are none or the job does not keep runs
}

func newAttempt(ctx context.Context, s Setup, restart int, o Observer) *attempt {
	name := fmt.Sprint("restart ", restart)
	return &attempt{ctx: snapshot.Within(ctx, name), setup: s, restart: restart, recorder: &recorder{observer: o},
		piece: snapshot.Open(ctx, name)}
}

// run runs the restart to its end. It sets a.result unless it fails or the restart is known to have lost.
func (a *attempt) run(lane *Lane) error {
	result, known, err := a.restore(lane)
	if err == nil && !known {
		result, err = a.begin(lane)
	}
	if err != nil || result == nil {
		return err
	}
	a.recorder.Observe(PhaseIterate)
	for result.StopReason == 0 {
		if result.Iterations >= a.setup.Runs().MaxIterations {
			result.StopReason = StopMaxIterations
			break
		}
		a.offer()
		report, err := a.stepper.Step(a.ctx)
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
	result.Labels = slices.Clone(a.stepper.Labels())
	a.stepper.FillResult(result)
	a.result, a.value = result, a.stepper.Value()
	if runs := a.setup.Runs(); runs.Keep && Complete(result.Labels) {
		found := NewLabeling(result.Labels, runs.K)
		a.found = &found
	}
	return nil
}

// begin creates the stepper and computes the initial labels.
func (a *attempt) begin(lane *Lane) (*Result, error) {
	if restarts := a.setup.Runs().Restarts; restarts > 1 {
		a.recorder.Observe(RestartStarted{a.restart, restarts})
	}
	a.stepper = a.setup.NewStepper(a.restart, lane, a.recorder)
	report, err := a.stepper.Init(a.ctx)
	if err != nil {
		return nil, err
	}
	result := &Result{Restart: a.restart}
	a.record(result, report)
	return result, nil
}

// record adds a report to the result and passes it to the observer.
func (a *attempt) record(result *Result, report Report) {
	if report.Entry != nil {
		result.History = append(result.History, *report.Entry)
		result.Iterations, result.Objective = report.Entry.Iteration, report.Entry.Objective
		a.recorder.Observe(IterationDone{Restart: a.restart, HistoryEntry: *report.Entry})
	}
	if report.Shift != nil {
		result.Kernel.Shifts = append(result.Kernel.Shifts, *report.Shift)
		a.recorder.Observe(*report.Shift)
	}
	for _, notice := range report.Notices {
		a.notices = append(a.notices, notice)
		a.recorder.Observe(notice)
	}
}

// better reports whether a beats b: by the lower value or, if the values are equal, by the lower restart number. NaN is
// worse than any number.
func (a *attempt) better(b *attempt) bool {
	if math.IsNaN(a.value) != math.IsNaN(b.value) {
		return math.IsNaN(b.value)
	}
	return a.value < b.value || (!(a.value > b.value) && a.restart < b.restart)
}

// Complete reports whether there are points and all of them have a label. A run that is canceled before its first
// assignment leaves points without one.
func Complete(labels []int32) bool {
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(c int32) bool { return c < 0 })
}
