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

// restored holds the labels of a level, the steps up to it, and the levels that were reported.
type restored struct {
	level    int
	labels   []int32
	steps    []Step
	reported []Level
}

// level reports a level.
func (m *memory) level(l Level) {
	m.reported = append(m.reported, l)
	if m.report != nil {
		m.report(l)
	}
}

// save encodes the labels of a level, the steps up to it, and all levels that were reported, for read.
func (m *memory) save(w *snapshot.Writer, level int, labels []int32, steps []Step) {
	w.Int(len(m.reported))
	for _, l := range m.reported {
		w.Int(l.Level)
		w.Int(l.Levels)
		w.Int(l.Vertices)
	}
	w.Int(level)
	w.Int32s(labels)
	w.Int(len(steps))
	for _, s := range steps {
		w.Float(s.Value)
		w.Int(s.Moved)
	}
}

// read decodes what save wrote. It returns nil if r is nil or damaged.
func read(r *snapshot.Reader, k int) *restored {
	if r == nil {
		return nil
	}
	s := &restored{}
	for range r.Count(3) {
		s.reported = append(s.reported, Level{r.Int(), r.Int(), r.Int()})
	}
	s.level, s.labels = r.Int(), r.Int32s()
	for _, c := range s.labels {
		r.Check(c >= 0 && int(c) < k)
	}
	for range r.Count(9) {
		s.steps = append(s.steps, Step{r.Float(), r.Int()})
	}
	if r.End() != nil {
		return nil
	}
	return s
}

// result returns what an earlier process found, or nil, and reports its levels again.
func (m *memory) result(rows, k int) *Found {
	s := read(m.piece.Result(), k)
	if s == nil || len(s.labels) != rows {
		return nil
	}
	m.replay(s)
	return &Found{s.labels, s.steps}
}

// state returns how far an earlier process came, or nil, and reports its levels again.
func (m *memory) state(levels []*Graph, k int) *restored {
	s := read(m.piece.State(), k)
	if s == nil || s.level < 0 || s.level >= len(levels) || len(s.labels) != levels[s.level].Rows() {
		return nil
	}
	m.replay(s)
	return s
}

func (m *memory) replay(s *restored) {
	for _, l := range s.reported {
		m.level(l)
	}
}

func (m *memory) keep(level int, labels []int32, steps []Step) {
	m.piece.Keep(2*len(labels), func(w *snapshot.Writer) { m.save(w, level, labels, steps) })
}

func (m *memory) finish(found Found) {
	m.piece.Finish(2*len(found.Labels), func(w *snapshot.Writer) { m.save(w, 0, found.Labels, found.Steps) })
}
