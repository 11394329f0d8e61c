package eigen

import (
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// The snapshot of a search holds its basis and the basis' products, because their bits depend on how the basis grew and
// cannot be recomputed. Everything else is recomputed from them.

func (s *search) size() int {
	return s.problem.rows * (len(s.basis) + len(s.a) + len(s.b) + len(s.candidates))
}

func (s *search) save(w *snapshot.Writer) {
	w.Int(s.iteration)
	w.Int(s.work.Rounds)
	w.Int(s.work.Products)
	w.Float(s.scale)
	w.Columns(s.candidates)
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
}

func (s *search) load(r *snapshot.Reader) bool {
	rows := s.problem.rows
	iteration := r.Int()
	rounds := r.Int()
	products := r.Int()
	scale := r.Float()
	candidates := r.Columns(rows)
	basis := r.Columns(rows)
	a := r.Columns(rows)
	b := r.Columns(rows)
	size := len(basis)
	forms := r.Columns(size)
	weights := r.Columns(size)
	r.Check(len(candidates) > 0 && len(a) == size && len(forms) == size && size <= rows)
	if s.problem.standard {
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
	r.Check(len(ritz) <= s.block)
	if r.End() != nil {
		return false
	}
	s.iteration, s.scale = iteration, scale
	s.work = Work{rounds, products}
	s.candidates, s.basis, s.a, s.b = candidates, basis, a, b
	s.forms = symmetricOf(forms)
	s.weights = symmetricOf(weights)
	if len(ritz) > 0 {
		s.ritz = matrixOf(len(ritz[0]), ritz)
	}
	return true
}

func saveSymmetric(w *snapshot.Writer, m *mat.SymDense) {
	if m == nil {
		w.Columns(nil)
		return
	}
	w.Columns(symmetricRows(m))
}
