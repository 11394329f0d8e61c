package clustering

import (
	"errors"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// A restart is remembered by what was heard of it and by the state of its method. Whoever goes on with it hears all of it
// again, from the beginning.

// NoticeKeeper is a family whose result has the notices of all restarts. It is given those of restarts that an earlier
// process began.
type NoticeKeeper interface {
	KeepNotices(notices []Notice)
}

// offer offers the state between two steps.
func (a *attempt) offer() {
	if m, can := a.method.(Resumable); can {
		a.piece.Keep(0, func(w *snapshot.Writer) { a.save(w, m, 0) })
	}
}

// keep keeps the end of a restart: of one that did not win, only its labels and what was heard of it.
func (a *attempt) keep(won bool) {
	if a == nil {
		return
	}
	m, can := a.method.(Resumable)
	if !can { // or an earlier process has kept it
		return
	}
	if !won {
		m = nil
	}
	a.piece.Finish(0, func(w *snapshot.Writer) { a.save(w, m, a.result.StopReason) })
}

func (a *attempt) save(w *snapshot.Writer, m Resumable, stop StopReason) {
	w.Raw(a.heard.log.Bytes())
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

// restore goes on with a restart that an earlier process began. It is not known if none did. There is no result if the restart
// has lost.
func (a *attempt) restore(lane *Lane) (result *Result, known bool, err error) {
	r := a.piece.State()
	if r == nil {
		r = a.piece.Result()
	}
	if r == nil {
		return nil, false, nil
	}
	heard := &recorder{observer: a.heard.observer}
	heard.log.Append(r.Raw())
	said := readHeard(snapshot.NewReader(heard.log.Bytes()), a.family.Restarts())
	notices := readNotices(r)
	if r.Check(said != nil); r.Err() != nil {
		return nil, false, nil
	}
	if r.Bool() {
		result = &Result{Restart: a.restart, History: said.history, Shifts: said.shifts, Warnings: notices, StopReason: StopReason(r.Int())}
		r.Check(result.StopReason <= StopMaxProducts)
		m, can := a.family.Method(a.restart, lane, heard).(Resumable)
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
		a.method = m
	} else {
		found := readLabeling(r, a.family.K())
		if r.End() != nil {
			return nil, false, nil
		}
		a.found = found
	}
	a.heard, a.notices = heard, notices
	if keeper, keeps := a.family.(NoticeKeeper); keeps {
		keeper.KeepNotices(notices)
	}
	for _, event := range said.events {
		event(heard.observer)
	}
	return result, true, nil
}
