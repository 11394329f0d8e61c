package eigen

import (
	"context"
	"math/rand/v2"
	"testing"
)

// A search never holds more columns than plans say, and at its peak not much less than its own part of them.
func TestSearchColumnsAreWhatASearchHolds(t *testing.T) {
	const n, count = 900, 6
	for _, generalized := range []bool{false, true} {
		p := &pencil{rows: n, standard: !generalized}
		p.products = func(_ context.Context, w *Work, x [][]float64) (ax, bx [][]float64, err error) {
			w.Products += len(x)
			ax = cloneColumns(x)
			bx = cloneColumns(x)
			for j := range x {
				for i := range x[j] { // A = diag(i), B = diag(2 + 1/(i+1))
					ax[j][i] *= float64(i)
					bx[j][i] *= 2 + 1/float64(i+1)
				}
			}
			return ax, bx, nil
		}
		p.assess = func(value, residual float64) float64 { return residual / (1 + value) }
		if generalized {
			p.correct = func(context.Context, [][]float64, []float64, [][]float64) error { return nil }
		}
		source := rand.NewPCG(1, 1)
		s := newSearch(p, count, Options{MaxProducts: 600}, source)
		held, restarts := 0, 0
		observe := func(Progress) {
			held = max(held, len(s.basis)+len(s.a)+len(s.b)+len(s.residuals)+len(s.bx)+len(s.x))
			if s.iteration > 1 && s.previousRitz == nil {
				restarts++
			}
		}
		start := func() error {
			s.randomStart(nil)
			return nil
		}
		if err := newRecorder(nil, source, observe).run(context.Background(), s, start); err != nil {
			t.Fatal(err)
		}
		block, basis := SearchSize(count)
		if s.block != block || s.options.Basis != basis || restarts == 0 {
			t.Errorf("a block of %d and a basis of %d, planned are %d and %d; %d restarts", s.block, s.options.Basis,
				block, basis, restarts)
		}
		if planned := SearchColumns(count, generalized); held > planned || held < planned/3 {
			t.Errorf("generalized %v: %d columns are held, planned are %d", generalized, held, planned)
		}
	}
}
