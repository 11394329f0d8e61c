package eigen

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// A search remembers its basis and the products of it: they are sums in an order that depends on how the basis grew, so
// that nothing of them can be computed again to the same bits. What follows from them is solved again. Whoever goes on
// with a search hears of all its iterations again.

// generator counts the numbers that it draws, so that another one can go on where it was.
type generator struct {
	*rand.Rand
	drawn int
}

// Float64 draws a number.
func (g *generator) Float64() float64 {
	g.drawn++
	return g.Rand.Float64()
}

// skipTo draws until so many numbers are drawn.
func (g *generator) skipTo(drawn int) {
	for g.drawn < drawn {
		g.Float64()
	}
}

// log is the iterations that a search has told of.
type log []Progress

func (l log) save(w *snapshot.Writer) {
	w.Int(len(l))
	for _, p := range l {
		for _, v := range []int{p.Iteration, p.Rounds, p.Products, p.Converged, p.Wanted} {
			w.Int(v)
		}
		w.Float(p.Residual)
		w.Float(p.Tolerance)
	}
}

func readLog(r *snapshot.Reader) (l log) {
	for range r.Count(5 + 16) {
		l = append(l, Progress{
			Iteration: r.Int(), Work: Work{Rounds: r.Int(), Products: r.Int()}, Converged: r.Int(), Wanted: r.Int(),
			Residual: r.Float(), Tolerance: r.Float(),
		})
	}
	return l
}

func (l log) tell(observe func(Progress)) {
	for _, p := range l {
		observe(p)
	}
}

// tell reports an iteration.
func (s *search) tell(p Progress) {
	s.told = append(s.told, p)
	s.Observe(p)
}

// offer offers the state before the basis grows by candidates.
func (s *search) offer(candidates [][]float64) {
	columns := len(s.basis) + len(s.a) + len(s.b) + len(candidates)
	s.piece.Keep(8*s.rows*columns, func(w *snapshot.Writer) {
		s.told.save(w)
		w.Int(s.rng.drawn - s.drawnBefore)
		for _, v := range []int{s.iteration, s.Rounds, s.Products} {
			w.Int(v)
		}
		w.Float(s.scale)
		w.Columns(candidates)
		w.Columns(s.basis)
		w.Columns(s.a)
		w.Columns(s.b)
		w.Columns(s.forms)
		w.Columns(s.weights)
		ritz := s.ritz[:min(s.block, len(s.ritz))]
		w.Int(len(ritz))
		for _, y := range ritz {
			w.Floats(y)
		}
	})
}

// restore takes over the state of an earlier process, and returns the candidates that its basis grows by next. It returns
// nil if there is no state.
func (s *search) restore() [][]float64 {
	r := s.piece.State()
	if r == nil {
		return nil
	}
	told, drawn := readLog(r), r.Int()
	iteration, work, scale := r.Int(), Work{r.Int(), r.Int()}, r.Float()
	candidates, basis, a, b := r.Columns(s.rows), r.Columns(s.rows), r.Columns(s.rows), r.Columns(s.rows)
	size := len(basis)
	forms, weights := r.Columns(size), r.Columns(size)
	r.Check(len(candidates) > 0 && len(a) == size && len(forms) == size && size <= s.rows && s.mayDraw(drawn, told))
	if s.standard {
		r.Check(len(b) == 0 && len(weights) == 0)
	} else {
		r.Check(len(b) == size && len(weights) == size)
	}
	var ritz [][]float64
	for range r.Count(1) {
		y := r.Floats()
		r.Check(len(y) <= size)
		ritz = append(ritz, y)
	}
	if r.Check(len(ritz) <= s.block); r.End() != nil {
		return nil
	}
	s.told, s.iteration, s.Work, s.scale = told, iteration, work, scale
	s.basis, s.a, s.b, s.forms, s.weights, s.ritz = basis, a, b, forms, weights, ritz
	s.rng.skipTo(s.drawnBefore + drawn)
	told.tell(s.Observe)
	return candidates
}

// finish keeps what was found.
func (s *search) finish(found Eigenpairs) {
	s.piece.Finish(8*s.rows*len(found.Vectors), func(w *snapshot.Writer) {
		s.told.save(w)
		w.Int(s.rng.drawn - s.drawnBefore)
		w.Int(found.Rounds)
		w.Int(found.Products)
		w.Bool(found.Converged)
		w.Floats(found.Values)
		w.Floats(found.Residuals)
		w.Columns(found.Vectors)
	})
}

// mayDraw tells whether a search may have drawn so many numbers: a start, and columns where the basis had none to grow by.
func (s *search) mayDraw(drawn int, told log) bool {
	return drawn >= 0 && drawn/s.rows <= 2*s.Basis+(len(told)+1)*s.block
}

// found is what an earlier process found: so many vectors, and as many values, or none.
func (s *search) found(vectors, values int) (found Eigenpairs, known bool) {
	r := s.piece.Result()
	if r == nil {
		return Eigenpairs{}, false
	}
	told, drawn := readLog(r), r.Int()
	found.Work = Work{r.Int(), r.Int()}
	found.Converged, found.Values, found.Residuals, found.Vectors = r.Bool(), r.Floats(), r.Floats(), r.Columns(s.rows)
	r.Check(len(found.Values) == values && len(found.Residuals) == values && len(found.Vectors) == vectors && s.mayDraw(drawn, told))
	if r.End() != nil {
		return Eigenpairs{}, false
	}
	s.rng.skipTo(s.drawnBefore + drawn)
	told.tell(s.Observe)
	return found, true
}
