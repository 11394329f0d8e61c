package multilevel

import "github.com/cleave-project/cleave/internal/snapshot"

// memory saves the progress of a cut: the levels that were reported and, if there is only one descent, as on every
// large graph, the labels of the last refined level. Coarsening is repeated after a resume, because its graphs would
// take far more room than labels.
type memory struct {
	piece    *snapshot.Piece
	report   func(Level)
	reported []Level
}

// saved is what was found up to a level, and the levels that were reported.
type saved struct {
	level    int
	found    Found
	reported []Level
}

// level reports a level.
func (m *memory) level(l Level) {
	m.reported = append(m.reported, l)
	if m.report != nil {
		m.report(l)
	}
}

// save encodes a saved, for restore.
func (m *memory) save(w *snapshot.Writer, level int, found Found) {
	w.Int(len(m.reported))
	for _, l := range m.reported {
		w.Int(l.Level)
		w.Int(l.Levels)
		w.Int(l.Vertices)
	}
	w.Int(level)
	w.Int32s(found.Labels)
	w.Int(len(found.Steps))
	for _, s := range found.Steps {
		w.Float(s.Value)
		w.Int(s.Moved)
	}
}

// restore returns what an earlier process saved, and reports its levels again. It returns nil if r is nil, damaged, or
// does not fit the graphs of the levels.
func (m *memory) restore(r *snapshot.Reader, levels []*Graph, k int) *saved {
	if r == nil {
		return nil
	}
	s := &saved{}
	for range r.Count(3) {
		s.reported = append(s.reported, Level{r.Int(), r.Int(), r.Int()})
	}
	s.level = r.Int()
	s.found.Labels = r.Int32s()
	for _, c := range s.found.Labels {
		r.Check(c >= 0 && int(c) < k)
	}
	for range r.Count(9) {
		s.found.Steps = append(s.found.Steps, Step{r.Float(), r.Int()})
	}
	if r.End() != nil || s.level < 0 || s.level >= len(levels) || len(s.found.Labels) != levels[s.level].Rows() {
		return nil
	}
	for _, l := range s.reported {
		m.level(l)
	}
	return s
}

func (m *memory) keep(level int, found Found) {
	m.piece.Keep(2*len(found.Labels), func(w *snapshot.Writer) { m.save(w, level, found) })
}

func (m *memory) finish(found Found) {
	m.piece.Finish(2*len(found.Labels), func(w *snapshot.Writer) { m.save(w, 0, found) })
}
