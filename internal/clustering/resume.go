package clustering

import (
	"errors"

	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

// A snapshot of a restart holds the log of its events and the state of its stepper. A process that resumes the restart
// replays all of its events from the beginning.

// offer offers the current state, between two steps, for the next snapshot. It does nothing if the stepper is not
// Resumable.
func (a *attempt) offer() {
	if m, can := a.stepper.(Resumable); can {
		a.piece.Keep(a.saved, func(w *snapshot.Writer) {
			a.save(w, m, 0)
			a.saved = len(w.Bytes())
		})
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
		result = &Result{
			Restart: a.restart, History: logged.history, Kernel: KernelReport{Shifts: logged.shifts},
			StopReason: StopReason(r.Int()),
		}
		r.Check(text.IsKnown(result.StopReason))
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
	for _, event := range logged.all {
		a.recorder.observer.Observe(event)
	}
	return result, true, nil
}
