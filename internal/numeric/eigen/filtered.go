package eigen

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// permuted returns columns with their rows in another order.
func permuted(x [][]float64, order []int32) [][]float64 {
	y := Columns(len(order), len(x))
	for j, column := range x {
		for at, i := range order {
			y[j][at] = column[i]
		}
	}
	return y
}

const (
	// The degree of a round's filter is the one that amplifies the last wanted pair by wantedGrowth relative to
	// unwanted ones, but no pair by more than maxGrowth; otherwise the other pairs would be lost to rounding.
	wantedGrowth = 100
	maxGrowth    = 1e7
	minDegree    = 4
	maxDegree    = 80
	filterRounds = 40
	// minGap is the minimum gap between wanted and unwanted eigenvalues, relative to the width of the spectrum.
	minGap = 1e-3
	// The density of eigenvalues is estimated by densityStarts Lanczos processes of densitySteps steps.
	densityStarts = 2
	densitySteps  = 40
)

// Filtered finds the count algebraically largest eigenvalues of a sparse matrix and their vectors, in the complement of
// the orthonormal columns outside, which need not be eigenvectors.
//
// It is subspace iteration with Chebyshev polynomials (Zhou and Saad 2007): a polynomial of the matrix that is small on
// the unwanted eigenvalues is applied to a block of vectors, which are then made orthonormal and combined to Ritz
// vectors. If products are cheap, as here, this takes a fraction of the time of Largest, which spends most of it on
// orthogonalizing a basis of several blocks. Of the options it uses Tolerance, Rough, Scale, Start and Observe. The
// context's snapshot includes the search.
func Filtered(ctx context.Context, m *Sparse, outside [][]float64, count int, source *rand.PCG,
	options Options) (Eigenpairs, error) {
	n := m.Rows()
	if count < 1 || count > n-len(outside) {
		return Eigenpairs{}, fmt.Errorf("%w: %d of a matrix of %d rows, without %d", errCount, count, n, len(outside))
	}
	if slices.ContainsFunc(m.Value, func(v float64) bool { return v-v != 0 }) {
		return Eigenpairs{}, invalid.New(invalid.MatrixNotFinite, "rows", n)
	}
	order := m.breadthFirst()
	options = options.withDefaults()
	options.Start = permuted(options.Start, order)
	f := &filtered{
		matrix: m.permuted(order), options: options, source: source, outside: permuted(outside, order),
		count: count, block: min(blockSize(count), n-len(outside)),
	}
	r := newRecorder(snapshot.Open(ctx, "filter"), source, options.Observe)
	if found, known := r.found(n, count, count); known {
		return found, nil
	}
	f.images = f.products(f.outside, nil)
	if err := r.run(ctx, f, func() error { return f.start(ctx) }); err != nil {
		return Eigenpairs{}, err
	}
	result := Eigenpairs{
		Values: f.values[:count], Vectors: Columns(n, count), Residuals: f.lengths[:count],
		Work: f.work, Converged: f.converged == count,
	}
	for j, v := range result.Vectors {
		for at, i := range order {
			v[i] = f.x[j][at]
		}
		Orient(v)
	}
	r.finish(n, result)
	return result, nil
}

// filtered is the state of one call of Filtered. It is an iteration, which a recorder drives: a step assesses the Ritz
// pairs, and advance filters those that have not converged.
type filtered struct {
	matrix          *Sparse
	options         Options
	source          *rand.PCG
	outside, images [][]float64 // the excluded columns, and their products
	count, block    int

	work       Work
	x          [][]float64 // Ritz vectors, and their values, the largest first
	values     []float64
	lengths    []float64 // of the residuals of all
	open       []bool    // which pairs have not converged or are not wanted
	converged  int
	iteration  int
	wanted, to float64 // estimates of the last wanted eigenvalue, and of the first one beyond the block
}

// start filters random columns, together with those of Options.Start, using an estimate of the density of eigenvalues.
func (f *filtered) start(ctx context.Context) error {
	columns := cloneColumns(f.options.Start)
	for len(columns) < f.block {
		columns = append(columns, randomUnit(f.matrix.Rows(), f.source))
	}
	f.estimate()
	columns = Orthonormalize(f.matrix.Rows(), columns[:f.block], f.outside)
	return f.ritz(ctx, columns, f.matrix.Bound, nil)
}

// advance filters the vectors that have not converged.
func (f *filtered) advance(ctx context.Context) error {
	var done, columns [][]float64
	top := math.Inf(-1)
	for j, open := range f.open {
		if !open {
			done = append(done, f.x[j])
			continue
		}
		columns = append(columns, f.x[j])
		top = max(top, f.values[j])
	}
	// A Ritz value is never above its eigenvalue, and those of the last columns are far below. If an eigenvalue is
	// repeated more often than there are columns, wanted pairs must still grow faster than those below.
	f.wanted = f.values[f.count-1]
	f.to = f.values[f.count+(f.block-f.count)*2/3-1]
	f.to = min(f.to, f.wanted-float64(minGap*(f.wanted+f.matrix.Bound)))
	return f.ritz(ctx, columns, top, done)
}

// ritz filters columns, makes them orthonormal, to each other and to the converged ones, and computes the Ritz vectors
// of their span. The largest Ritz value of the columns is at most top.
func (f *filtered) ritz(ctx context.Context, columns [][]float64, top float64, done [][]float64) error {
	n := f.matrix.Rows()
	columns, err := f.filter(ctx, columns, top)
	if err != nil {
		return err
	}
	basis := append(slices.Clip(done), Orthonormalize(n, columns, f.outside, done)...)
	for len(basis) < f.block {
		basis = append(basis, Orthonormalize(n, [][]float64{randomUnit(n, f.source)}, f.outside, basis)...)
	}
	forms := Gram(n, basis, f.products(basis, f.outside))
	values, vectors := DenseEigenpairs(Upper(forms))
	f.values = values
	f.x = Combination(n, basis, vectors)
	f.iteration++
	return nil
}

// step compares the residuals with the tolerances.
func (f *filtered) step(context.Context) (p Progress, ended bool, err error) {
	scale := max(f.options.Scale, math.Abs(f.values[0]), math.SmallestNonzeroFloat64)
	f.lengths = make([]float64, f.block)
	f.open = make([]bool, f.block)
	f.converged = 0
	worst := 0.0
	for j, rest := range f.products(f.x, f.outside) {
		subtractMultiple(rest, f.x[j], f.values[j])
		f.lengths[j] = length(rest)
		tolerance := f.options.Tolerance
		if j >= f.count-f.options.Rough {
			tolerance = max(tolerance, float64(roughTolerance*min(1, max(math.Abs(f.values[j])/scale, minValue))))
		} else {
			worst = max(worst, f.lengths[j]/scale)
		}
		f.open[j] = j >= f.count || !(f.lengths[j]/scale <= tolerance)
		if !f.open[j] {
			f.converged++
		}
	}
	p = Progress{
		Iteration: f.iteration, Work: f.work, Residual: worst, Tolerance: f.options.Tolerance,
		Converged: f.converged, Wanted: f.count,
	}
	return p, f.converged == f.count || f.iteration >= filterRounds, nil
}

// degree returns the degree of the next filter, for vectors whose largest Ritz value is top.
func (f *filtered) degree(top float64) int {
	x := f.scaled(f.wanted)
	y := f.scaled(top)
	last := [2]float64{1, x}
	own := [2]float64{1, y} // values of the last two polynomials
	degree := 1
	for ; degree < maxDegree; degree++ {
		if degree >= minDegree && (last[1] >= wantedGrowth || own[1] >= maxGrowth) {
			break
		}
		last = [2]float64{last[1], float64(2*x*last[1]) - last[0]}
		own = [2]float64{own[1], float64(2*y*own[1]) - own[0]}
	}
	return degree
}

// scaled maps the unwanted interval, from -Bound to f.to, to [-1, 1].
func (f *filtered) scaled(value float64) float64 {
	center, half := f.interval()
	return (value - center) / half // exact, fused or not
}

func (f *filtered) interval() (center, half float64) {
	to := max(f.to, float64(-0.5*f.matrix.Bound)) // arbitrary if all eigenvalues are wanted
	return (to - f.matrix.Bound) / 2, (to + f.matrix.Bound) / 2
}

// filter applies the Chebyshev polynomial to columns in the complement of outside. It looks at the context before every
// product, because a filter of many rows takes long.
func (f *filtered) filter(ctx context.Context, columns [][]float64, top float64) ([][]float64, error) {
	if f.matrix.Bound == 0 {
		return columns, ctx.Err()
	}
	degree := f.degree(top)
	center, half := f.interval()
	f.work.Rounds += degree
	f.work.Products += degree * len(columns)
	n := f.matrix.Rows()
	out := make([][]float64, len(columns))
	err := parallel.Ranges(ctx, len(columns), together, func(from, to int) {
		previous := interleaved(n, columns[from:to])
		current := make([]float64, together*n)
		f.recur(previous, current, 1/half, -center/half, 0)
		for range degree - 1 {
			if ctx.Err() != nil {
				return
			}
			f.recur(current, previous, 2/half, -2*center/half, -1)
			previous, current = current, previous
		}
		for c := from; c < to; c++ {
			out[c] = make([]float64, n)
			for i := range out[c] {
				out[c][i] = current[together*i+c-from]
			}
		}
	})
	return out, cmp.Or(err, ctx.Err()) // a piece that ends early has no error
}

// recur replaces y by byProduct P M x + byX x + byY y for interleaved columns, where P projects to the complement of
// outside. x must be in that complement.
func (f *filtered) recur(x, y []float64, byProduct, byX, byY float64) {
	shares := make([][together]float64, len(f.outside)) // components of the products along outside
	for at, image := range f.images {
		sums := &shares[at]
		for i, v := range image {
			own := (*[together]float64)(x[together*i:])
			for c := range sums {
				sums[c] += float64(v * own[c])
			}
		}
	}
	factors := [3]float64{byProduct, byX, byY}
	var buffer [together * rowsAtOnce]float64
	for from := 0; from < f.matrix.Rows(); from += rowsAtOnce {
		to := min(from+rowsAtOnce, f.matrix.Rows())
		products := buffer[:together*(to-from)]
		clear(products)
		f.matrix.addProducts(products, x, from, to)
		for at, w := range f.outside {
			for i, v := range w[from:to] {
				product := (*[together]float64)(products[together*i:])
				for c, share := range &shares[at] {
					product[c] -= float64(v * share)
				}
			}
		}
		combineRows(y[together*from:together*to], products, x[together*from:], &factors)
	}
}

// products multiplies the matrix with columns, and projects the results to the complement of others.
func (f *filtered) products(x, others [][]float64) [][]float64 {
	f.work.Rounds++
	f.work.Products += len(x)
	y := Columns(f.matrix.Rows(), len(x))
	ranges(len(x), together, func(from, to int) { f.matrix.setProducts(y[from:to], x[from:to]) })
	if len(others) > 0 {
		project(f.matrix.Rows(), y, others)
	}
	return y
}

// estimate estimates the distribution of the eigenvalues by Lanczos processes from random columns. A Ritz value stands
// for n times the squared component of its vector along the start (Lin, Saad and Yang 2016).
func (f *filtered) estimate() {
	type part struct{ value, share float64 }
	var all []part
	n := f.matrix.Rows()
	steps := min(densitySteps, n-len(f.outside))
	for range densityStarts {
		basis := Orthonormalize(n, [][]float64{randomUnit(n, f.source)}, f.outside)
		var alpha, beta []float64
		for len(basis) > len(alpha) {
			last := len(alpha)
			next := f.products(basis[last:], f.outside)[0]
			alpha = append(alpha, dot(next, basis[last]))
			if len(alpha) == steps {
				break
			}
			project(n, [][]float64{next}, basis)
			project(n, [][]float64{next}, basis)
			norm := normalize(next)
			if norm <= breakdownRelative*f.matrix.Bound {
				break
			}
			beta = append(beta, norm)
			basis = append(basis, next)
		}
		size := len(alpha)
		if size == 0 {
			continue
		}
		tridiagonal := mat.NewSymDense(size, nil)
		for i, v := range alpha {
			tridiagonal.SetSym(i, i, v)
			if i+1 < size {
				tridiagonal.SetSym(i, i+1, beta[i])
			}
		}
		values, vectors := DenseEigenpairs(tridiagonal)
		for at, v := range values {
			first := vectors.At(0, at)
			all = append(all, part{v, float64(float64(first*first) * float64(n) / densityStarts)})
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.value, a.value) })
	f.wanted, f.to = 0, float64(-0.5*f.matrix.Bound)
	total, known := 0.0, false
	for _, p := range all {
		total += p.share
		if !known && total >= float64(f.count) {
			f.wanted, known = p.value, true
		}
		if total >= float64(f.block) {
			f.to = p.value
			break
		}
	}
}

func (f *filtered) size() int { return f.matrix.Rows() * len(f.x) }

func (f *filtered) save(w *snapshot.Writer) {
	w.Int(f.iteration)
	w.Int(f.work.Rounds)
	w.Int(f.work.Products)
	w.Floats(f.values)
	w.Columns(f.x)
}

func (f *filtered) load(r *snapshot.Reader) bool {
	iteration := r.Int()
	rounds := r.Int()
	products := r.Int()
	values := r.Floats()
	x := r.Columns(f.matrix.Rows())
	r.Check(len(values) == f.block && len(x) == f.block && iteration > 0)
	if r.End() != nil {
		return false
	}
	f.iteration, f.values, f.x = iteration, values, x
	f.work = Work{rounds, products}
	return true
}
