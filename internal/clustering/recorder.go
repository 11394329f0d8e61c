package clustering

import (
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

// recorder forwards events to an observer and logs them, so that they can be replayed after a resume. It does not log
// phases, which only describe the present.
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

func (r *recorder) Restart(restart, restarts int) {
	r.log.Int(int(eventRestart))
	r.log.Int(restart)
	r.observer.Restart(restart, restarts)
}

func (r *recorder) Iteration(restart int, e HistoryEntry) {
	r.log.Int(int(eventIteration))
	r.log.Int(restart)
	writeEntry(&r.log, e)
	r.observer.Iteration(restart, e)
}

func (r *recorder) Shift(s ShiftChange) {
	r.log.Int(int(eventShift))
	r.log.Int(s.Iteration)
	r.log.Float(s.Sigma)
	r.log.String(s.Reason)
	r.observer.Shift(s)
}

func (r *recorder) Notice(n Notice) {
	r.log.Int(int(eventNotice))
	writeNotice(&r.log, n)
	r.observer.Notice(n)
}

func (r *recorder) Solver(s SolverStep) {
	r.log.Int(int(eventSolver))
	for _, v := range []int{s.Step, s.Products, s.Converged, s.Wanted} {
		r.log.Int(v)
	}
	r.log.Float(s.Residual)
	r.log.Float(s.Tolerance)
	if r.log.Bool(s.StepsLeft != nil); s.StepsLeft != nil {
		r.log.Int(*s.StepsLeft)
	}
	r.observer.Solver(s)
}

func (r *recorder) Level(l LevelStarted) {
	r.log.Int(int(eventLevel))
	r.log.Int(l.Level)
	r.log.Int(l.Levels)
	r.log.Int(l.Vertices)
	r.observer.Level(l)
}

func (r *recorder) Trial(t Trial) {
	r.log.Int(int(eventTrial))
	for _, v := range []int{int(t.Space), int(t.ConstraintUse), t.Fold, t.Folds, t.MustLinks, t.MustLinksRight, t.CannotLinks, t.CannotLinksRight} {
		r.log.Int(v)
	}
	r.observer.Trial(t)
}

// K implements Observer. It does not log k, which does not belong to a restart.
func (r *recorder) K(k KStarted) { r.observer.K(k) }

func (r *recorder) Phase(p Phase) { r.observer.Phase(p) }

// events holds the decoded log of a recorder.
type events struct {
	all     []func(Observer)
	history []HistoryEntry
	shifts  []ShiftChange
}

// readEvents decodes the log of a recorder, for a run with the given number of restarts. It returns nil if the log is
// damaged.
func readEvents(r *snapshot.Reader, restarts int) *events {
	h := &events{}
	for r.More() {
		var event func(Observer)
		switch eventKind(r.Int()) {
		case eventRestart:
			restart := r.Int()
			event = func(o Observer) { o.Restart(restart, restarts) }
		case eventIteration:
			restart, e := r.Int(), readEntry(r)
			h.history = append(h.history, e)
			event = func(o Observer) { o.Iteration(restart, e) }
		case eventShift:
			s := ShiftChange{r.Int(), r.Float(), r.String()}
			h.shifts = append(h.shifts, s)
			event = func(o Observer) { o.Shift(s) }
		case eventNotice:
			n := readNotice(r)
			event = func(o Observer) { o.Notice(n) }
		case eventSolver:
			s := SolverStep{Step: r.Int(), Products: r.Int(), Converged: r.Int(), Wanted: r.Int(), Residual: r.Float(), Tolerance: r.Float()}
			if r.Bool() {
				left := r.Int()
				s.StepsLeft = &left
			}
			event = func(o Observer) { o.Solver(s) }
		case eventLevel:
			l := LevelStarted{r.Int(), r.Int(), r.Int()}
			event = func(o Observer) { o.Level(l) }
		case eventTrial:
			t := Trial{Method: Method{Space(r.Int()), ConstraintUse(r.Int())}, Fold: r.Int(), Folds: r.Int(),
				MustLinks: r.Int(), MustLinksRight: r.Int(), CannotLinks: r.Int(), CannotLinksRight: r.Int()}
			r.Check(t.Space <= SpaceMixture && t.ConstraintUse <= UseWhitened)
			event = func(o Observer) { o.Trial(t) }
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
