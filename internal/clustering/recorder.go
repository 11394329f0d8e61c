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
	writeEvent(&r.log, e)
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
		event := readEvent(r, restarts)
		switch e := event.(type) {
		case IterationDone:
			h.history = append(h.history, e.HistoryEntry)
		case ShiftChange:
			h.shifts = append(h.shifts, e)
		case KStarted, RestartStarted, Notice, SolverStep, LevelStarted, MethodTried, Phase:
		}
		h.all = append(h.all, event)
	}
	if r.Err() != nil {
		return nil
	}
	return h
}

// writeEvent encodes an event for readEvent. It ignores those that do not belong to a restart, or describe the present
// only. Every event with several fields has its pair of functions below.
func writeEvent(w *snapshot.Writer, e Event) {
	switch e := e.(type) {
	case RestartStarted:
		w.Int(int(eventRestart))
		w.Int(e.Restart)
	case IterationDone:
		w.Int(int(eventIteration))
		w.Int(e.Restart)
		writeEntry(w, e.HistoryEntry)
	case ShiftChange:
		w.Int(int(eventShift))
		writeShift(w, e)
	case Notice:
		w.Int(int(eventNotice))
		writeNotice(w, e)
	case SolverStep:
		w.Int(int(eventSolver))
		writeSolverStep(w, e)
	case LevelStarted:
		w.Int(int(eventLevel))
		writeLevel(w, e)
	case MethodTried:
		w.Int(int(eventTrial))
		writeTrial(w, e.Trial)
	case KStarted, Phase:
	}
}

// readEvent decodes an event of a run with the given number of restarts.
func readEvent(r *snapshot.Reader, restarts int) Event {
	switch eventKind(r.Int()) {
	case eventRestart:
		return RestartStarted{r.Int(), restarts}
	case eventIteration:
		return IterationDone{r.Int(), readEntry(r)}
	case eventShift:
		return readShift(r)
	case eventNotice:
		return readNotice(r)
	case eventSolver:
		return readSolverStep(r)
	case eventLevel:
		return readLevel(r)
	case eventTrial:
		return MethodTried{readTrial(r)}
	}
	r.Check(false)
	return nil
}

func writeShift(w *snapshot.Writer, s ShiftChange) {
	w.Int(s.Iteration)
	w.Float(s.Sigma)
	w.String(s.Reason)
}

func readShift(r *snapshot.Reader) ShiftChange {
	return ShiftChange{Iteration: r.Int(), Sigma: r.Float(), Reason: r.String()}
}

func writeSolverStep(w *snapshot.Writer, s SolverStep) {
	w.Int(s.Step)
	w.Int(s.Products)
	w.Int(s.Converged)
	w.Int(s.Wanted)
	w.Float(s.Residual)
	w.Float(s.Tolerance)
	if w.Bool(s.StepsLeft != nil); s.StepsLeft != nil {
		w.Int(*s.StepsLeft)
	}
}

func readSolverStep(r *snapshot.Reader) SolverStep {
	s := SolverStep{Step: r.Int(), Products: r.Int(), Converged: r.Int(), Wanted: r.Int(), Residual: r.Float(),
		Tolerance: r.Float()}
	if r.Bool() {
		left := r.Int()
		s.StepsLeft = &left
	}
	return s
}

func writeLevel(w *snapshot.Writer, l LevelStarted) {
	w.Int(l.Level)
	w.Int(l.Levels)
	w.Int(l.Vertices)
}

func readLevel(r *snapshot.Reader) LevelStarted {
	return LevelStarted{Level: r.Int(), Levels: r.Int(), Vertices: r.Int()}
}

func writeTrial(w *snapshot.Writer, t Trial) {
	for _, v := range []int{int(t.Space), int(t.ConstraintUse), t.Fold, t.Folds, t.MustLinks, t.MustLinksRight,
		t.CannotLinks, t.CannotLinksRight} {
		w.Int(v)
	}
}

func readTrial(r *snapshot.Reader) Trial {
	t := Trial{Method: Method{Space(r.Int()), ConstraintUse(r.Int())}, Fold: r.Int(), Folds: r.Int(),
		MustLinks: r.Int(), MustLinksRight: r.Int(), CannotLinks: r.Int(), CannotLinksRight: r.Int()}
	r.Check(text.IsKnown(t.Space) && text.IsKnown(t.ConstraintUse))
	return t
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
