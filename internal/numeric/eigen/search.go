package eigen

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Options configures a search. A zero field means its default.
type Options struct {
	Tolerance   float64        // of residuals; the default is 1e-8
	MaxProducts int            // columns to multiply before giving up with the best pairs so far; the default is 20,000
	Basis       int            // columns of the basis: more take more memory, but fewer products
	Rough       int            // the last Rough of the wanted pairs need only be approximate
	Scale       float64        // a known lower bound of the eigenvalue magnitude that residuals are relative to
	Start       [][]float64    // known approximations of wanted vectors, from which the search begins
	Observe     func(Progress) // called after every iteration
}

// Rough pairs may have larger residuals, because the eigenvalues of a kernel fall quickly and a small eigenvalue has a
// small residual with any vector.
const (
	roughTolerance = 1e-2 // residual of a rough pair, relative to its value
	minValue       = 1e-3 // relative to the largest value; smaller ones count as this
)

// Progress is the state after one iteration of a search. A solver may do several searches, each of which counts its
// iterations from 1.
type Progress struct {
	Iteration int
	Work
	Residual  float64 // the largest of the wanted pairs, as it is compared with the tolerance
	Tolerance float64
	Converged int // wanted pairs within the tolerance
	Wanted    int
}

// withDefaults returns the options with defaults for all zero fields but Basis, which depends on the problem.
func (o Options) withDefaults() Options {
	if o.Tolerance <= 0 {
		o.Tolerance = 1e-8
	}
	if o.MaxProducts <= 0 {
		o.MaxProducts = 20_000
	}
	if o.Observe == nil {
		o.Observe = func(Progress) {}
	}
	return o
}

// pencil is the problem A x = value B x, with B positive definite, in the complement of the excluded vectors.
type pencil struct {
	rows     int
	excluded [][]float64 // orthonormal: the search stays orthogonal to them
	products func(ctx context.Context, w *Work, x [][]float64) (ax, bx [][]float64, err error)
	standard bool // B = I, and products returns no bx

	// assess converts a residual |A x - value B x| of a unit vector to what is compared with the tolerance. It is
	// called once per round for every pair, for the largest values first.
	assess func(value, residual float64) float64
	// correct, if not nil, turns residuals into corrections, in place, given the values of their pairs and all
	// approximate vectors.
	correct func(ctx context.Context, residuals [][]float64, values []float64, x [][]float64) error
	// mayBeRough, if not nil, marks the wanted pairs that need only be approximate, given their unit vectors and the
	// forms x'B x.
	mayBeRough func(values []float64, x [][]float64, forms []float64) []bool
}

// search is the Rayleigh-Ritz method for a pencil, over a growing basis. It is an iteration, which a recorder drives: a
// step adds candidates to the basis and finds the Ritz pairs, and advance finds the next candidates.
type search struct {
	problem *pencil
	options Options
	source  *rand.PCG
	count   int // pairs wanted
	block   int // pairs worked on, see blockSize

	work               Work
	scale              float64       // the largest magnitude of a value so far; some problems do not use it
	candidates         [][]float64   // what the basis grows by next, at least a block of columns at the start
	basis, a, b        [][]float64   // orthonormal columns, and their products
	forms, weights     *mat.SymDense // basis' A basis, basis' B basis
	values             []float64     // Ritz values, largest first
	ritz, previousRitz *mat.Dense    // their vectors as combinations of the basis, in this round and in the one before
	x                  [][]float64   // the vectors of the pairs worked on, for generalized problems only
	residuals, bx      [][]float64   // A x - value B x, and B x, of these pairs
	measured           []float64     // the residuals' lengths, as assessed
	tolerances         []float64
	converged          int
	iteration          int
}

// newSearch returns a search for the count pairs of p with the largest values. Its basis has at least four blocks of
// columns, unless there are fewer dimensions.
func newSearch(p *pencil, count int, options Options, source *rand.PCG) *search {
	s := &search{problem: p, options: options.withDefaults(), source: source, count: count}
	room := p.rows - len(p.excluded)
	s.block = min(blockSize(count), room)
	if s.options.Basis <= 0 {
		s.options.Basis = basisSize(s.block)
	}
	s.options.Basis = min(max(s.options.Basis, 4*s.block), room)
	s.residuals = Columns(p.rows, s.block)
	s.bx = Columns(p.rows, s.block)
	return s
}

// randomStart makes the search begin with columns that are known to be good, and a block of random ones.
func (s *search) randomStart(good [][]float64) {
	s.candidates = good
	for range s.block {
		s.candidates = append(s.candidates, randomUnit(s.problem.rows, s.source))
	}
}

// step adds the candidates to the basis and finds the Ritz pairs.
func (s *search) step(ctx context.Context) (p Progress, ended bool, err error) {
	s.iteration++
	room := s.room()
	fresh := s.independent(room)
	if err := s.expand(ctx, fresh); err != nil {
		return Progress{}, false, err
	}
	if err := s.solve(ctx); err != nil {
		return Progress{}, false, err
	}
	worst := 0.0
	s.converged = 0
	for j, e := range s.measured[:s.count] {
		if s.tolerances[j] == s.options.Tolerance {
			worst = max(worst, e)
		}
		if e <= s.tolerances[j] {
			s.converged++
		}
	}
	p = Progress{
		Iteration: s.iteration, Work: s.work, Residual: worst, Tolerance: s.options.Tolerance,
		Converged: s.converged, Wanted: s.count,
	}
	isWhole := len(fresh) == room
	return p, s.converged == s.count || isWhole || s.work.Products >= s.options.MaxProducts, nil
}

// room returns how many dimensions are outside the basis.
func (s *search) room() int { return s.problem.rows - len(s.problem.excluded) - len(s.basis) }

// independent returns the candidates that the basis grows by, orthonormal to it. It adds random columns if the basis
// would be smaller than a block, or not grow.
func (s *search) independent(room int) [][]float64 {
	rows, excluded := s.problem.rows, s.problem.excluded
	fresh := Orthonormalize(rows, s.candidates, excluded, s.basis)
	for len(s.basis)+len(fresh) < s.block || len(fresh) == 0 && room > 0 {
		another := [][]float64{randomUnit(rows, s.source)}
		fresh = append(fresh, Orthonormalize(rows, another, excluded, s.basis, fresh)...)
	}
	return fresh[:min(len(fresh), room)]
}

// advance finds the next candidates, and shrinks a basis that has no room for them.
func (s *search) advance(ctx context.Context) (err error) {
	s.candidates, err = s.corrections(ctx)
	if err != nil {
		return err
	}
	isSmall := s.options.Basis < s.problem.rows-len(s.problem.excluded) // otherwise it may grow to the whole space
	if len(s.basis)+s.block > s.options.Basis && isSmall {
		s.restart()
	}
	return nil
}

// expand adds columns and their products to the basis.
func (s *search) expand(ctx context.Context, fresh [][]float64) error {
	if len(fresh) == 0 {
		return nil
	}
	a, b, err := s.problem.products(ctx, &s.work, fresh)
	if err != nil {
		return err
	}
	s.basis = append(s.basis, fresh...)
	s.a = append(s.a, cloneColumns(a)...)
	s.forms = extendSymmetric(s.forms, Gram(s.problem.rows, s.basis, s.a[len(s.a)-len(fresh):]))
	if !s.problem.standard {
		s.b = append(s.b, cloneColumns(b)...)
		s.weights = extendSymmetric(s.weights, Gram(s.problem.rows, s.basis, s.b[len(s.b)-len(fresh):]))
	}
	return nil
}

func cloneColumns(x [][]float64) [][]float64 {
	y := make([][]float64, len(x))
	for j := range x {
		y[j] = append([]float64(nil), x[j]...)
	}
	return y
}

// extendSymmetric appends columns to a symmetric matrix, and their mirror as rows.
func extendSymmetric(m *mat.SymDense, last *mat.Dense) *mat.SymDense {
	size, added := last.Dims()
	old := size - added
	grown := NewSymmetric(size)
	for i := range old {
		for j := i; j < old; j++ {
			grown.SetSym(i, j, m.At(i, j))
		}
	}
	for j := range added {
		for i := range old + j + 1 {
			grown.SetSym(i, old+j, last.At(i, j))
		}
	}
	return grown
}

// solve finds the Ritz pairs, and the residuals of those worked on.
func (s *search) solve(ctx context.Context) (err error) {
	s.previousRitz = s.ritz
	if s.problem.standard {
		s.values, s.ritz, err = LeadingEigenpairs(ctx, s.forms, all)
	} else {
		s.values, s.ritz, err = generalized(ctx, s.forms, s.weights, all)
	}
	if err != nil {
		return err
	}
	if !s.problem.standard {
		for j := range len(s.basis) {
			y := mat.Col(nil, j, s.ritz)
			normalize(y)
			s.ritz.SetCol(j, y)
		}
	}
	factors := firstColumns(s.ritz, min(s.block, len(s.basis)))
	for j := range s.residuals {
		clear(s.residuals[j])
		clear(s.bx[j])
	}
	combine(s.problem.rows, s.residuals, s.a, factors)
	if s.problem.standard {
		combine(s.problem.rows, s.bx, s.basis, factors)
	} else {
		combine(s.problem.rows, s.bx, s.b, factors)
	}
	for j := range s.residuals {
		subtractMultiple(s.residuals[j], s.bx[j], s.values[j])
	}
	if len(s.problem.excluded) > 0 {
		project(s.problem.rows, s.residuals, s.problem.excluded)
	}
	s.measured, s.tolerances = s.measured[:0], s.tolerances[:0]
	for j, r := range s.residuals {
		s.measured = append(s.measured, s.problem.assess(s.values[j], length(r)))
		tolerance := s.options.Tolerance
		if s.options.Rough > 0 && j >= s.count-s.options.Rough {
			share := math.Abs(s.values[j]) / max(math.Abs(s.values[0]), s.options.Scale, math.SmallestNonzeroFloat64)
			tolerance = max(tolerance, float64(roughTolerance*min(1, max(share, minValue))))
		}
		s.tolerances = append(s.tolerances, tolerance)
	}
	if s.problem.correct != nil {
		s.x = Combination(s.problem.rows, s.basis, factors)
	}
	if s.problem.mayBeRough != nil {
		s.relax()
	}
	return nil
}

// relax raises the tolerances of pairs that need only be approximate.
func (s *search) relax() {
	const roughly = 1e-3
	x := s.x[:s.count]
	forms := make([]float64, s.count)
	for j := range forms {
		forms[j] = dot(x[j], s.bx[j])
	}
	for j, is := range s.problem.mayBeRough(s.values[:s.count], x, forms) {
		if is {
			s.tolerances[j] = max(s.options.Tolerance, roughly)
		}
	}
	for j := s.count; j < s.block; j++ {
		s.tolerances[j] = max(s.options.Tolerance, roughly)
	}
}

// corrections returns the directions in which the basis grows: the residuals of the pairs that have not converged,
// corrected if the pencil can do that.
func (s *search) corrections(ctx context.Context) ([][]float64, error) {
	var residuals [][]float64
	var values []float64
	for j, e := range s.measured {
		if e > s.tolerances[j] {
			residuals = append(residuals, append([]float64(nil), s.residuals[j]...))
			values = append(values, s.values[j])
		}
	}
	if s.problem.correct == nil || len(residuals) == 0 {
		return residuals, nil
	}
	return residuals, s.problem.correct(ctx, residuals, values, s.x)
}

// restart shrinks the basis to the best Ritz vectors and the wanted ones of the previous round. The two together span
// the direction in which each vector moves, which a restart would otherwise forget (Stathopoulos and Saad 1998).
func (s *search) restart() {
	kept := columnsOf(s.ritz, 0, 2*s.block)
	if s.previousRitz != nil {
		for j, y := range columnsOf(s.previousRitz, 0, min(s.block, columnCount(s.previousRitz))) {
			if s.measured[j] > s.tolerances[j] {
				kept = append(kept, append(y, make([]float64, len(s.basis)-len(y))...))
			}
		}
	}
	kept = Orthonormalize(len(s.basis), kept[:min(len(kept), s.options.Basis-s.block)])
	factors := matrixOf(len(s.basis), kept)
	s.basis = recombineInPlace(s.problem.rows, s.basis, factors)
	s.a = recombineInPlace(s.problem.rows, s.a, factors)
	s.forms = congruent(s.forms, factors)
	if !s.problem.standard {
		s.b = recombineInPlace(s.problem.rows, s.b, factors)
		s.weights = congruent(s.weights, factors)
	}
	s.ritz = nil
}

// vectors returns the wanted Ritz vectors, of length 1.
func (s *search) vectors() [][]float64 {
	return Combination(s.problem.rows, s.basis, firstColumns(s.ritz, s.count))
}
