package multilevel

import "github.com/cleave-project/cleave/internal/snapshot"

// progress reports the levels of a descent, and keeps them in a snapshot. A descent that is alone, as on every large
// graph, also keeps the labels of the last refined level. Coarsening is repeated after a resume, because its graphs
// would take far more room than labels. The zero value reports and keeps nothing.
type progress struct {
	piece    *snapshot.Piece
	alone    bool
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
func (p *progress) level(l Level) {
	p.reported = append(p.reported, l)
	if p.report != nil {
		p.report(l)
	}
}

// save encodes a saved, for restore.
func (p *progress) save(w *snapshot.Writer, level int, found Found) {
	w.Int(len(p.reported))
	for _, l := range p.reported {
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
func (p *progress) restore(r *snapshot.Reader, levels []*Graph, k int) *saved {
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
		p.level(l)
	}
	return s
}

// keep keeps what was found up to a level, if the descent is alone.
func (p *progress) keep(level int, found Found) {
	if !p.alone {
		return
	}
	p.piece.Keep(2*len(found.Labels), func(w *snapshot.Writer) { p.save(w, level, found) })
}

// finish keeps the answer.
func (p *progress) finish(found Found) {
	p.piece.Finish(2*len(found.Labels), func(w *snapshot.Writer) { p.save(w, 0, found) })
}
