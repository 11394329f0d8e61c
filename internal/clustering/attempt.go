package clustering

import (
	"context"
	"errors"
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
	stepper  Stepper
	notices  []Notice  // all notices reported by the stepper so far
	result   *Result   // nil if it ended without labels, or if an earlier process found that it did not win
	value    float64   // Stepper.Value at the end
	found    *Labeling // the final labels; nil if there are none or the job does not keep runs
}

func newAttempt(ctx context.Context, s Setup, restart int, o Observer) *attempt {
	name := fmt.Sprint("restart ", restart)
	return &attempt{ctx: snapshot.Within(ctx, name), setup: s, restart: restart, recorder: &recorder{observer: o}, piece: snapshot.Open(ctx, name)}
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
		result.Shifts = append(result.Shifts, *report.Shift)
		a.recorder.Observe(*report.Shift)
	}
	for _, notice := range report.Notices {
		result.Warnings = append(result.Warnings, notice)
		a.recorder.Observe(notice)
	}
	a.notices = result.Warnings
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

// A snapshot of a restart holds the log of its events and the state of its stepper. A process that resumes the restart
// replays all of its events from the beginning.

// NoticeKeeper is a Setup whose result includes the notices of all restarts. KeepNotices passes it the notices of a
// restart that is resumed.
type NoticeKeeper interface {
	KeepNotices(notices []Notice)
}

// offer offers the current state, between two steps, for the next snapshot. It does nothing if the stepper is not
// Resumable.
func (a *attempt) offer() {
	if m, can := a.stepper.(Resumable); can {
		a.piece.Keep(0, func(w *snapshot.Writer) { a.save(w, m, 0) })
	}
}

// saveEnded saves a restart that has ended. If it did not win, only its labels and its events are saved. A nil attempt
// is ignored.
func (a *attempt) saveEnded(won bool) {
	if a == nil {
		return
	}
	m, can := a.stepper.(Resumable)
	if !can { // or an earlier process has saved it
		return
	}
	if !won {
		m = nil
	}
	a.piece.Finish(0, func(w *snapshot.Writer) { a.save(w, m, a.result.StopReason) })
}

// save writes the restart to w. If m is nil, it writes the final labels in place of the state of the stepper.
func (a *attempt) save(w *snapshot.Writer, m Resumable, stop StopReason) {
	w.Raw(a.recorder.log.Bytes())
	w.Int(len(a.notices))
	for _, n := range a.notices {
		writeNotice(w, n)
	}
	if w.Bool(m != nil); m != nil {
		w.Int(int(stop))
		m.Save(w)
	} else {
		a.found.save(w)
	}
}

// restore resumes a restart from a snapshot of an earlier process and replays its events. It reports known as false if
// there is no usable snapshot. The result is nil if the restart is known to have lost.
func (a *attempt) restore(lane *Lane) (result *Result, known bool, err error) {
	r := a.piece.State()
	if r == nil {
		r = a.piece.Result()
	}
	if r == nil {
		return nil, false, nil
	}
	rec := &recorder{observer: a.recorder.observer}
	rec.log.Append(r.Raw())
	logged := readEvents(snapshot.NewReader(rec.log.Bytes()), a.setup.Runs().Restarts)
	notices := readNotices(r)
	if r.Check(logged != nil); r.Err() != nil {
		return nil, false, nil
	}
	if r.Bool() {
		result = &Result{Restart: a.restart, History: logged.history, Shifts: logged.shifts, Warnings: notices, StopReason: StopReason(r.Int())}
		r.Check(result.StopReason <= StopMaxProducts)
		m, can := a.setup.NewStepper(a.restart, lane, rec).(Resumable)
		if !can || r.Err() != nil {
			return nil, false, nil
		}
		if err := m.Restore(a.ctx, r); errors.Is(err, snapshot.ErrDamaged) {
			return nil, false, nil
		} else if err != nil {
			return nil, false, err
		}
		if last := len(result.History) - 1; last >= 0 {
			result.Iterations, result.Objective = result.History[last].Iteration, result.History[last].Objective
		}
		a.stepper = m
	} else {
		found := readLabeling(r, a.setup.Runs().K)
		if r.End() != nil {
			return nil, false, nil
		}
		a.found = found
	}
	a.recorder, a.notices = rec, notices
	if keeper, keeps := a.setup.(NoticeKeeper); keeps {
		keeper.KeepNotices(notices)
	}
	for _, event := range logged.all {
		a.recorder.observer.Observe(event)
	}
	return result, true, nil
}
