package eigen

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// The snapshot of a search holds its basis and the basis' products, because their bits depend on how the basis grew and
// cannot be recomputed. Everything else is recomputed from them. A resumed search reports all its iterations again.

// generator counts the numbers that it draws, so that a resumed search can skip them.
type generator struct {
	*rand.Rand
	drawn int
}

// Float64 draws a number.
func (g *generator) Float64() float64 {
	g.drawn++
	return g.Rand.Float64()
}

// skipTo draws until the given number of draws is reached.
func (g *generator) skipTo(drawn int) {
	for g.drawn < drawn {
		g.Float64()
	}
}

// progressLog holds the iterations that a search has reported.
type progressLog []Progress

func (l progressLog) save(w *snapshot.Writer) {
	w.Int(len(l))
	for _, p := range l {
		for _, v := range []int{p.Iteration, p.Rounds, p.Products, p.Converged, p.Wanted} {
			w.Int(v)
		}
		w.Float(p.Residual)
		w.Float(p.Tolerance)
	}
}

func readLog(r *snapshot.Reader) (l progressLog) {
	for range r.Count(5 + 16) {
		l = append(l, Progress{
			Iteration: r.Int(), Work: Work{Rounds: r.Int(), Products: r.Int()}, Converged: r.Int(), Wanted: r.Int(),
			Residual: r.Float(), Tolerance: r.Float(),
		})
	}
	return l
}

// memory holds what a search needs to save and resume its progress, in addition to its own state.
type memory struct {
	piece       *snapshot.Piece
	reported    progressLog
	rng         *generator
	drawnBefore int // numbers that the generator had drawn before the search
}

// report reports an iteration.
func (m *memory) report(observe func(Progress), p Progress) {
	m.reported = append(m.reported, p)
	observe(p)
}

func (m *memory) drawn() int { return m.rng.drawn - m.drawnBefore }

// resume restores the log and the position in the random numbers of an earlier process.
func (m *memory) resume(reported progressLog, drawn int, observe func(Progress)) {
	m.rng.skipTo(m.drawnBefore + drawn)
	for _, p := range reported {
		m.report(observe, p)
	}
}

// finish saves what the search found.
func (m *memory) finish(rows int, found Eigenpairs) {
	m.piece.Finish(8*rows*len(found.Vectors), func(w *snapshot.Writer) {
		m.reported.save(w)
		for _, v := range []int{m.drawn(), found.Rounds, found.Products} {
			w.Int(v)
		}
		w.Bool(found.Converged)
		w.Floats(found.Values)
		w.Floats(found.Residuals)
		w.Columns(found.Vectors)
	})
}

// found returns what an earlier process found. It reports false if there is no result, or one with other numbers of
// vectors and values; mayDraw checks the number of random draws.
func (m *memory) found(rows, vectors, values int, mayDraw func(drawn int, reported progressLog) bool, observe func(Progress)) (found Eigenpairs, known bool) {
	r := m.piece.Result()
	if r == nil {
		return Eigenpairs{}, false
	}
	reported, drawn := readLog(r), r.Int()
	found.Work = Work{r.Int(), r.Int()}
	found.Converged, found.Values, found.Residuals, found.Vectors = r.Bool(), r.Floats(), r.Floats(), r.Columns(rows)
	r.Check(len(found.Values) == values && len(found.Residuals) == values && len(found.Vectors) == vectors && mayDraw(drawn, reported))
	if r.End() != nil {
		return Eigenpairs{}, false
	}
	m.resume(reported, drawn, observe)
	return found, true
}

// offer makes the state available to the next snapshot, before the basis grows by the candidates.
func (s *search) offer(candidates [][]float64) {
	columns := len(s.basis) + len(s.a) + len(s.b) + len(candidates)
	s.piece.Keep(8*s.rows*columns, func(w *snapshot.Writer) {
		s.reported.save(w)
		for _, v := range []int{s.drawn(), s.iteration, s.Rounds, s.Products} {
			w.Int(v)
		}
		w.Float(s.scale)
		w.Columns(candidates)
		w.Columns(s.basis)
		w.Columns(s.a)
		w.Columns(s.b)
		saveSymmetric(w, s.forms)
		saveSymmetric(w, s.weights)
		var ritz [][]float64
		if s.ritz != nil {
			ritz = columnsOf(s.ritz, 0, min(s.block, columnCount(s.ritz)))
		}
		w.Int(len(ritz))
		for _, y := range ritz {
			w.Floats(y)
		}
	})
}

// restore loads the state from the snapshot of an earlier process. It returns the candidates that the basis grows by
// next, or nil if there is no state.
func (s *search) restore() [][]float64 {
	r := s.piece.State()
	if r == nil {
		return nil
	}
	reported, drawn := readLog(r), r.Int()
	iteration, work, scale := r.Int(), Work{r.Int(), r.Int()}, r.Float()
	candidates, basis, a, b := r.Columns(s.rows), r.Columns(s.rows), r.Columns(s.rows), r.Columns(s.rows)
	size := len(basis)
	forms, weights := r.Columns(size), r.Columns(size)
	r.Check(len(candidates) > 0 && len(a) == size && len(forms) == size && size <= s.rows && s.mayDraw(drawn, reported))
	if s.standard {
		r.Check(len(b) == 0 && len(weights) == 0)
	} else {
		r.Check(len(b) == size && len(weights) == size)
	}
	var ritz [][]float64
	for range r.Count(1) {
		y := r.Floats()
		r.Check(len(y) > 0 && len(y) <= size && (len(ritz) == 0 || len(y) == len(ritz[0])))
		ritz = append(ritz, y)
	}
	if r.Check(len(ritz) <= s.block); r.End() != nil {
		return nil
	}
	s.iteration, s.Work, s.scale = iteration, work, scale
	s.basis, s.a, s.b = basis, a, b
	s.forms, s.weights = symmetricOf(forms), symmetricOf(weights)
	if len(ritz) > 0 {
		s.ritz = matrixOf(len(ritz[0]), ritz)
	}
	s.resume(reported, drawn, s.Observe)
	return candidates
}

// mayDraw reports whether a search can have drawn this many numbers: for its start, and for columns to grow by when
// there were no corrections.
func (s *search) mayDraw(drawn int, reported progressLog) bool {
	return drawn >= 0 && drawn/s.rows <= 2*s.Basis+(len(reported)+1)*s.block
}

func saveSymmetric(w *snapshot.Writer, m *mat.SymDense) {
	if m == nil {
		w.Columns(nil)
		return
	}
	w.Columns(symmetricRows(m))
}
