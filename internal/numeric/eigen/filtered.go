package eigen

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
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
func Filtered(ctx context.Context, m *Sparse, outside [][]float64, count int, rng *rand.Rand, options Options) (Eigenpairs, error) {
	n := m.Rows()
	if count < 1 || count > n-len(outside) {
		return Eigenpairs{}, fault.Invalid("EIGENPAIR_COUNT", "the number of eigenvectors is %d for a matrix of %d rows; it must be from 1 to %d", count, n, n-len(outside))
	}
	if i := slices.IndexFunc(m.Value, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return Eigenpairs{}, fault.New(fault.Internal, "PRODUCT_NOT_FINITE", "an entry of the matrix is %g", m.Value[i])
	}
	order := m.breadthFirst()
	options.Start = permuted(options.Start, order)
	f := &filtered{
		Sparse: m.permuted(order), Options: options.withDefaults(), outside: permuted(outside, order), count: count,
		block: min(blockSize(count), n-len(outside)), memory: memory{rng: &generator{Rand: rng}, piece: snapshot.Open(ctx, "filter")},
	}
	if found, known := f.found(n, count, count, f.mayDraw, f.Observe); known {
		return found, nil
	}
	f.images = f.products(f.outside, nil)
	if !f.restore() {
		if err := f.start(ctx); err != nil {
			return Eigenpairs{}, err
		}
	}
	for {
		f.assess()
		if f.converged == count || f.iteration >= filterRounds {
			break
		}
		f.offer()
		if err := f.improve(ctx); err != nil {
			return Eigenpairs{}, err
		}
	}
	result := Eigenpairs{Values: f.values[:count], Vectors: Columns(n, count), Residuals: f.lengths[:count], Work: f.Work, Converged: f.converged == count}
	for j, v := range result.Vectors {
		for at, i := range order {
			v[i] = f.x[j][at]
		}
		Orient(v)
	}
	f.finish(n, result)
	return result, nil
}

// filtered is the state of one call of Filtered.
type filtered struct {
	*Sparse
	Options
	Work
	outside, images [][]float64 // the excluded columns, and their products
	count, block    int
	memory

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
	columns := cloneColumns(f.Start)
	for len(columns) < f.block {
		columns = append(columns, randomUnit(f.Rows(), f.rng))
	}
	f.estimate()
	columns = Orthonormalize(f.Rows(), columns[:f.block], f.outside)
	return f.ritz(ctx, columns, f.Bound, nil)
}

// improve filters the vectors that have not converged.
func (f *filtered) improve(ctx context.Context) error {
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
	f.wanted, f.to = f.values[f.count-1], f.values[f.count+(f.block-f.count)*2/3-1]
	f.to = min(f.to, f.wanted-float64(minGap*(f.wanted+f.Bound)))
	return f.ritz(ctx, columns, top, done)
}

// ritz filters columns, makes them orthonormal, to each other and to the converged ones, and computes the Ritz vectors
// of their span. The largest Ritz value of the columns is at most top.
func (f *filtered) ritz(ctx context.Context, columns [][]float64, top float64, done [][]float64) error {
	n := f.Rows()
	columns, err := f.filter(ctx, columns, top)
	if err != nil {
		return err
	}
	basis := append(slices.Clip(done), Orthonormalize(n, columns, f.outside, done)...)
	for len(basis) < f.block {
		basis = append(basis, Orthonormalize(n, [][]float64{randomUnit(n, f.rng)}, f.outside, basis)...)
	}
	forms := Gram(n, basis, f.products(basis, f.outside))
	var vectors [][]float64
	f.values, vectors = DenseEigenpairs(f.block, Flatten(forms))
	f.x = Combination(n, basis, transposed(vectors, f.block), f.block)
	f.iteration++
	return nil
}

// assess compares the residuals with the tolerances.
func (f *filtered) assess() {
	scale := max(f.Scale, math.Abs(f.values[0]), math.SmallestNonzeroFloat64)
	f.lengths, f.open, f.converged = make([]float64, f.block), make([]bool, f.block), 0
	worst := 0.0
	for j, rest := range f.products(f.x, f.outside) {
		subtractMultiple(rest, f.x[j], f.values[j])
		f.lengths[j] = length(rest)
		tolerance := f.Tolerance
		if j >= f.count-f.Rough {
			tolerance = max(tolerance, float64(roughTolerance*min(1, max(math.Abs(f.values[j])/scale, minValue))))
		} else {
			worst = max(worst, f.lengths[j]/scale)
		}
		f.open[j] = j >= f.count || !(f.lengths[j]/scale <= tolerance)
		if !f.open[j] {
			f.converged++
		}
	}
	f.report(f.Observe, Progress{Iteration: f.iteration, Work: f.Work, Residual: worst, Tolerance: f.Tolerance, Converged: f.converged, Wanted: f.count})
}

// degree returns the degree of the next filter, for vectors whose largest Ritz value is top.
func (f *filtered) degree(top float64) int {
	x, y := f.scaled(f.wanted), f.scaled(top)
	last, own := [2]float64{1, x}, [2]float64{1, y} // values of the last two polynomials
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
	to := max(f.to, float64(-0.5*f.Bound)) // arbitrary if all eigenvalues are wanted
	return (to - f.Bound) / 2, (to + f.Bound) / 2
}

// filter applies the Chebyshev polynomial to columns in the complement of outside. It looks at the context before every
// product, because a filter of many rows takes long.
func (f *filtered) filter(ctx context.Context, columns [][]float64, top float64) ([][]float64, error) {
	if f.Bound == 0 {
		return columns, ctx.Err()
	}
	degree := f.degree(top)
	center, half := f.interval()
	f.Rounds += degree
	f.Products += degree * len(columns)
	n := f.Rows()
	out := make([][]float64, len(columns))
	err := parallel.RangesContext(ctx, len(columns), together, func(from, to int) {
		previous, current := interleaved(n, columns[from:to]), make([]float64, together*n)
		f.step(previous, current, 1/half, -center/half, 0)
		for range degree - 1 {
			if ctx.Err() != nil {
				return
			}
			f.step(current, previous, 2/half, -2*center/half, -1)
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

// step replaces y by byProduct P M x + byX x + byY y for interleaved columns, where P projects to the complement of
// outside. x must be in that complement.
func (f *filtered) step(x, y []float64, byProduct, byX, byY float64) {
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
	for from := 0; from < f.Rows(); from += rowsAtOnce {
		to := min(from+rowsAtOnce, f.Rows())
		products := buffer[:together*(to-from)]
		clear(products)
		f.addProducts(products, x, from, to)
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
	f.Rounds++
	f.Products += len(x)
	y := Columns(f.Rows(), len(x))
	parallel.Ranges(len(x), together, func(from, to int) { f.setProducts(y[from:to], x[from:to]) })
	if len(others) > 0 {
		project(f.Rows(), y, others)
	}
	return y
}

// estimate estimates the distribution of the eigenvalues by Lanczos processes from random columns. A Ritz value stands
// for n times the squared component of its vector along the start (Lin, Saad and Yang 2016).
func (f *filtered) estimate() {
	type part struct{ value, share float64 }
	var all []part
	n := f.Rows()
	steps := min(densitySteps, n-len(f.outside))
	for range densityStarts {
		basis := Orthonormalize(n, [][]float64{randomUnit(n, f.rng)}, f.outside)
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
			if norm <= breakdownRelative*f.Bound {
				break
			}
			beta, basis = append(beta, norm), append(basis, next)
		}
		size := len(alpha)
		if size == 0 {
			continue
		}
		entries := make([]float64, size*size)
		for i, v := range alpha {
			if entries[i*size+i] = v; i+1 < size {
				entries[i*size+i+1] = beta[i]
			}
		}
		values, vectors := DenseEigenpairs(size, entries)
		for at, v := range values {
			all = append(all, part{v, float64(float64(vectors[at][0]*vectors[at][0]) * float64(n) / densityStarts)})
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.value, a.value) })
	f.wanted, f.to = 0, float64(-0.5*f.Bound)
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

// offer makes the Ritz vectors available to the next snapshot, before they are filtered again.
func (f *filtered) offer() {
	f.piece.Keep(8*f.Rows()*len(f.x), func(w *snapshot.Writer) {
		f.reported[:len(f.reported)-1].save(w) // the last iteration will be reported again
		for _, v := range []int{f.drawn(), f.iteration, f.Rounds, f.Products} {
			w.Int(v)
		}
		w.Floats(f.values)
		w.Columns(f.x)
	})
}

// restore loads the Ritz vectors from the snapshot of an earlier process. It returns false if there are none.
func (f *filtered) restore() bool {
	r := f.piece.State()
	if r == nil {
		return false
	}
	reported, drawn, iteration, work := readLog(r), r.Int(), r.Int(), Work{r.Int(), r.Int()}
	values, x := r.Floats(), r.Columns(f.Rows())
	r.Check(len(values) == f.block && len(x) == f.block && f.mayDraw(drawn, nil) && iteration > 0)
	if r.End() != nil {
		return false
	}
	work.Rounds--
	work.Products -= f.block // these will be counted again
	f.iteration, f.Work, f.values, f.x = iteration, work, values, x
	f.resume(reported, drawn, f.Observe)
	return true
}

// mayDraw reports whether a search can have drawn this many numbers; a damaged snapshot may claim any number.
func (f *filtered) mayDraw(drawn int, _ progressLog) bool {
	return drawn >= 0 && drawn/f.Rows() <= f.block*(filterRounds+1)+densityStarts
}
