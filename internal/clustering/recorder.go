package clustering

import (
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

// recorder forwards events to an observer and logs them, so that they can be replayed after a resume.
type recorder struct {
	observer Observer
	log      snapshot.Writer
}

// eventKind identifies an event in the log of a recorder. The values are part of the snapshot format.
type eventKind int

const (
	eventRestart eventKind = iota + 1
	eventIteration
	eventShift
	eventNotice
	eventSolver
	eventLevel
	eventTrial
)

// Observe implements Observer.
func (r *recorder) Observe(e Event) {
	switch e := e.(type) {
	case RestartStarted:
		r.log.Int(int(eventRestart))
		r.log.Int(e.Restart)
	case IterationDone:
		r.log.Int(int(eventIteration))
		r.log.Int(e.Restart)
		writeEntry(&r.log, e.HistoryEntry)
	case ShiftChange:
		r.log.Int(int(eventShift))
		r.log.Int(e.Iteration)
		r.log.Float(e.Sigma)
		r.log.String(e.Reason)
	case Notice:
		r.log.Int(int(eventNotice))
		writeNotice(&r.log, e)
	case SolverStep:
		r.log.Int(int(eventSolver))
		for _, v := range []int{e.Step, e.Products, e.Converged, e.Wanted} {
			r.log.Int(v)
		}
		r.log.Float(e.Residual)
		r.log.Float(e.Tolerance)
		if r.log.Bool(e.StepsLeft != nil); e.StepsLeft != nil {
			r.log.Int(*e.StepsLeft)
		}
	case LevelStarted:
		r.log.Int(int(eventLevel))
		r.log.Int(e.Level)
		r.log.Int(e.Levels)
		r.log.Int(e.Vertices)
	case MethodTried:
		r.log.Int(int(eventTrial))
		for _, v := range []int{int(e.Space), int(e.ConstraintUse), e.Fold, e.Folds, e.MustLinks, e.MustLinksRight,
			e.CannotLinks, e.CannotLinksRight} {
			r.log.Int(v)
		}
	case KStarted, Phase: // do not belong to a restart, or describe the present only
	}
	r.observer.Observe(e)
}

// events holds the decoded log of a recorder.
type events struct {
	all     []Event
	history []HistoryEntry
	shifts  []ShiftChange
}

// readEvents decodes the log of a recorder, for a run with the given number of restarts. It returns nil if the log is
// damaged.
func readEvents(r *snapshot.Reader, restarts int) *events {
	h := &events{}
	for r.More() {
		var event Event
		switch eventKind(r.Int()) {
		case eventRestart:
			event = RestartStarted{r.Int(), restarts}
		case eventIteration:
			e := IterationDone{r.Int(), readEntry(r)}
			h.history = append(h.history, e.HistoryEntry)
			event = e
		case eventShift:
			s := ShiftChange{r.Int(), r.Float(), r.String()}
			h.shifts = append(h.shifts, s)
			event = s
		case eventNotice:
			event = readNotice(r)
		case eventSolver:
			s := SolverStep{Step: r.Int(), Products: r.Int(), Converged: r.Int(), Wanted: r.Int(), Residual: r.Float(),
				Tolerance: r.Float()}
			if r.Bool() {
				left := r.Int()
				s.StepsLeft = &left
			}
			event = s
		case eventLevel:
			event = LevelStarted{r.Int(), r.Int(), r.Int()}
		case eventTrial:
			t := Trial{Method: Method{Space(r.Int()), ConstraintUse(r.Int())}, Fold: r.Int(), Folds: r.Int(),
				MustLinks: r.Int(), MustLinksRight: r.Int(), CannotLinks: r.Int(), CannotLinksRight: r.Int()}
			r.Check(text.IsKnown(t.Space) && text.IsKnown(t.ConstraintUse))
			event = MethodTried{t}
		default:
			r.Check(false)
		}
		h.all = append(h.all, event)
	}
	if r.Err() != nil {
		return nil
	}
	return h
}

// writeNotice encodes a notice for readNotice.
func writeNotice(w *snapshot.Writer, n Notice) {
	w.String(n.Code)
	w.String(n.Message)
	w.Int(len(n.Parts))
	for _, p := range n.Parts {
		w.Int(int(p.Kind))
		w.String(p.Text)
		w.Int(p.I)
		w.Int(p.J)
	}
}

func readNotice(r *snapshot.Reader) Notice {
	n := Notice{Code: r.String(), Message: r.String()}
	for range r.Count(4) {
		n.Parts = append(n.Parts, text.Part{Kind: text.PartKind(r.Int()), Text: r.String(), I: r.Int(), J: r.Int()})
	}
	return n
}

func readNotices(r *snapshot.Reader) (notices []Notice) {
	for range r.Count(3) {
		notices = append(notices, readNotice(r))
	}
	return notices
}

func writeEntry(w *snapshot.Writer, e HistoryEntry) {
	w.Int(e.Iteration)
	w.Float(e.Objective)
	w.Int(e.Moved)
	w.OptionalFloat(e.AssignmentObjective)
	if w.Bool(e.Parts != nil); e.Parts != nil {
		e.Parts.Save(w)
	}
}

func readEntry(r *snapshot.Reader) HistoryEntry {
	e := HistoryEntry{Iteration: r.Int(), Objective: r.Float(), Moved: r.Int(), AssignmentObjective: r.OptionalFloat()}
	if r.Bool() {
		e.Parts = ReadParts(r)
	}
	return e
}

// Save writes p to a snapshot.
func (p *ObjectiveParts) Save(w *snapshot.Writer) {
	for _, v := range []float64{p.Distortion, p.MustLink, p.CannotLink, p.LogDet, p.Spread} {
		w.Float(v)
	}
	w.Int(p.Violated)
}

// ReadParts reads what Save wrote.
func ReadParts(r *snapshot.Reader) *ObjectiveParts {
	return &ObjectiveParts{
		Parts:  metric.Parts{Distortion: r.Float(), MustLink: r.Float(), CannotLink: r.Float(), LogDet: r.Float()},
		Spread: r.Float(), Violated: r.Int(),
	}
}
