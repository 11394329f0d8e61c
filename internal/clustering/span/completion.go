package span

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// completion completes the matrix of all pairs from the known ones, within the span. With y_i the first `width` entries
// of V[i,:]/l_i, it finds a symmetric M near I_k, which has ones in the first k places of the diagonal, such that
// y_i'M y_j is 1 for must-links and 0 for cannot-links:
//
//	M = I_k + H^1/2 X H^1/2,   X = argmin sum weight (y_i'M y_j - [must])^2 + rho |X|^2              (2)
//
// Spectral clustering uses I_k alone. H = diag(h) makes vectors of high cost expensive,
//
//	h_a = min(1, p_a/p_k),   p_a = exp(-log(1 - w_a) / log(1 - w_k))
//
// which is heat diffusion until the k-th vector has decayed to 1/e.
type completion struct {
	*basis
	*links
	width   int
	damping []float64     // h^1/2
	damped  [][]float64   // g_i = H^1/2 y_i of the constrained points, one column per vector
	between *mat.SymDense // kernels of all pairs of links; nil if they are not cached
}

// newCompletion returns the problem (2) within the first width vectors, without the kernels; see cacheKernels.
func (b *basis) newCompletion(l *links, width int) *completion {
	c := &completion{basis: b, links: l, width: width, damping: make([]float64, width),
		damped: make([][]float64, width)}
	unit := elementary.Log(1 - b.costs[b.k-1])
	for a := range c.damping {
		times := elementary.Log(1-b.costs[a]) / unit
		c.damping[a] = math.Sqrt(min(1, elementary.Exp(1-times)))
		c.damped[a] = make([]float64, len(l.points))
		for i, row := range l.scaled {
			c.damped[a][i] = float64(c.damping[a] * row[a])
		}
	}
	return c
}

// residual returns [must] - y_i' I_k y_j, which X has to explain.
func (c *completion) residual(pair link) float64 {
	return pair.target() - elementary.Dot(c.scaled[pair.i][:c.k], c.scaled[pair.j][:c.k])
}

// ends returns g_i or g_j of some links, one column per vector. Here and below, a subset of the links is a list of
// their indices in links.all.
func (c *completion) ends(subset []int, end func(link) int) [][]float64 {
	columns := eigen.Columns(len(subset), c.width)
	for a := range columns {
		for i, which := range subset {
			columns[a][i] = c.damped[a][end(c.all[which])]
		}
	}
	return columns
}

func firstEnd(l link) int  { return l.i }
func secondEnd(l link) int { return l.j }

// manyLinks is the number of links above which (2) is solved for the width x width unknowns of X by conjugate
// gradients, instead of directly for one unknown per link.
const manyLinks = 2048

// solve returns X of (2) for some links.
func (c *completion) solve(rho float64, subset []int) *mat.Dense {
	if len(subset) > manyLinks {
		return c.solveByGradients(rho, subset)
	}
	return c.solveByLinks(rho, subset)
}

// solveByLinks solves for one factor per link; see leftOut.
func (c *completion) solveByLinks(rho float64, subset []int) *mat.Dense {
	matrix, right, roots := c.kernels(subset)
	for e := range subset {
		matrix.SetSym(e, e, matrix.At(e, e)+rho)
	}
	values := solvePositive(matrix, right)
	for e := range values {
		values[e] *= roots[e]
	}
	return spread(c.ends(subset, firstEnd), c.ends(subset, secondEnd), values)
}

// solvePositive returns the solution of a system with a positive definite matrix.
func solvePositive(matrix *mat.SymDense, right []float64) []float64 {
	if len(right) == 0 {
		return nil
	}
	factor, ok := eigen.Cholesky(matrix)
	if !ok {
		panic("span: a kernel of links is not finite")
	}
	solution := mat.NewDense(len(right), 1, slices.Clone(right))
	factor.Solve(solution)
	return solution.RawMatrix().Data
}

// kernels returns W^1/2 K W^1/2 of some links, W^1/2 b, and the diagonal of W^1/2; see leftOut.
func (c *completion) kernels(subset []int) (matrix *mat.SymDense, b, roots []float64) {
	b, roots = c.sides(subset)
	if c.between == nil {
		return c.kernelMatrix(subset, roots), b, roots
	}
	matrix = eigen.NewSymmetric(len(subset))
	for e, which := range subset {
		for f := e; f < len(subset); f++ {
			matrix.SetSym(e, f, c.between.At(which, subset[f]))
		}
	}
	return matrix, b, roots
}

// sides returns W^1/2 b of some links and the diagonal of W^1/2.
func (c *completion) sides(subset []int) (b, roots []float64) {
	b = make([]float64, len(subset))
	roots = make([]float64, len(subset))
	for e, which := range subset {
		roots[e] = math.Sqrt(c.all[which].weight)
		b[e] = float64(roots[e] * c.residual(c.all[which]))
	}
	return b, roots
}

// cacheKernels computes the kernels of all pairs of links, which the fits to folds share, if a fold uses them. Folds
// of points may know few of many links: then each fit computes its own kernels, which have the same bits.
func (c *completion) cacheKernels(folds []fold) {
	if len(c.all) <= 2*manyLinks && slices.ContainsFunc(folds, func(f fold) bool { return len(f.known) <= manyLinks }) {
		c.between, _, _ = c.kernels(choose.All[int](len(c.all)))
	}
}

// kernelMatrix returns W^1/2 K W^1/2 of some links, given the diagonal of W^1/2, in time O(links^2 width).
func (c *completion) kernelMatrix(subset []int, roots []float64) *mat.SymDense {
	m := len(subset)
	matrix := eigen.NewSymmetric(m)
	i := c.ends(subset, firstEnd)
	j := c.ends(subset, secondEnd)
	innerProducts := byRows
	if c.quick {
		innerProducts = byColumns
	}
	const linksAtOnce = 64 // limits memory
	for from := 0; from < m; from += linksAtOnce {
		to := min(from+linksAtOnce, m)
		first := innerProducts(i, i, from, to)
		second := innerProducts(j, j, from, to)
		across := innerProducts(i, j, from, to)
		back := innerProducts(j, i, from, to)
		for e := from; e < to; e++ {
			for f := e; f < m; f++ {
				v := (float64(first[e-from][f-from]*second[e-from][f-from]) +
					float64(across[e-from][f-from]*back[e-from][f-from])) / 2
				matrix.SetSym(e, f, float64(float64(roots[e]*v)*roots[f]))
			}
		}
	}
	return matrix
}

// byRows returns x_e'y_f for rows e from from to to-1 of x and all rows f >= from of y, both given by columns.
func byRows(x, y [][]float64, from, to int) [][]float64 {
	products := eigen.Gram(len(x), rowsOf(x, from, to), rowsOf(y, from, len(y[0])))
	rows := make([][]float64, to-from)
	for e := range rows {
		rows[e] = products.RawRowView(e)
	}
	return rows
}

// rowsOf returns some rows of columns.
func rowsOf(columns [][]float64, from, to int) [][]float64 {
	rows := eigen.Columns(len(columns), to-from)
	for a, column := range columns {
		for i, v := range column[from:to] {
			rows[i][a] = v
		}
	}
	return rows
}

// byColumns computes byRows up to rounding, by summing columns. It takes a tenth of the time, because rows are short.
func byColumns(x, y [][]float64, from, to int) [][]float64 {
	columns := make([][]float64, len(y))
	factors := newFactors(len(x), to-from)
	for a := range x {
		columns[a] = y[a][from:]
		factors.SetRow(a, x[a][from:to])
	}
	return eigen.Combination(len(columns[0]), columns, factors)
}

// products returns g_i'X g_j of links with the given ends.
func products(i, j [][]float64, x *mat.Dense) []float64 {
	products := make([]float64, len(i[0]))
	for a, image := range eigen.Combination(len(products), i, x) { // X g_i
		for at, v := range j[a] {
			products[at] += float64(image[at] * v)
		}
	}
	return products
}

// spread applies the adjoint of products: it returns the sum of value (g_i g_j' + g_j g_i') / 2.
func spread(i, j [][]float64, values []float64) *mat.Dense {
	scaled := eigen.Columns(len(values), len(j))
	for a, column := range j {
		for at, v := range column {
			scaled[a][at] = float64(values[at] * v)
		}
	}
	x := eigen.Gram(len(values), i, scaled)
	for a := range i {
		for b := range a {
			mean := (x.At(a, b) + x.At(b, a)) / 2
			x.Set(a, b, mean)
			x.Set(b, a, mean)
		}
	}
	return x
}

const (
	completionTolerance  = 1e-4 // of the residual, relative to the right side
	completionIterations = 200
)

// solveByGradients solves the normal equations by conjugate gradients.
func (c *completion) solveByGradients(rho float64, subset []int) *mat.Dense {
	right := make([]float64, len(subset))
	for at, which := range subset {
		right[at] = float64(c.all[which].weight * c.residual(c.all[which]))
	}
	i := c.ends(subset, firstEnd)
	j := c.ends(subset, secondEnd)
	rest := spread(i, j, right)
	x := newFactors(c.width, c.width)
	direction := mat.DenseCopyOf(rest)
	square := product(rest, rest)
	enough := float64(completionTolerance * completionTolerance * square)
	for range completionIterations {
		if !(square > enough) {
			break
		}
		images := products(i, j, direction)
		for at, which := range subset {
			images[at] *= c.all[which].weight
		}
		normal := spread(i, j, images)
		addMultiple(normal, direction, rho)
		step := square / product(direction, normal)
		addMultiple(x, direction, step)
		addMultiple(rest, normal, -step)
		previous := square
		square = product(rest, rest)
		next := mat.DenseCopyOf(rest)
		addMultiple(next, direction, square/previous)
		direction = next
	}
	return x
}

func addMultiple(to, x *mat.Dense, factor float64) {
	values := to.RawMatrix().Data
	for at, v := range x.RawMatrix().Data {
		values[at] += float64(factor * v)
	}
}

func product(x, y *mat.Dense) float64 { return elementary.Dot(x.RawMatrix().Data, y.RawMatrix().Data) }

// factors returns those of the k coordinates whose inner products are nearest to y_i'M y_j over all points: with R R' =
// Y'Y/n and the k leading eigenpairs (e, U) of R'M R, they are R^-T U max(e, 1e-6)^1/2. Rows are scaled to length 1, so
// the lengths l do not matter.
func (c *completion) factors(rho float64, subset []int) *mat.Dense {
	const least = 1e-6
	x := c.solve(rho, subset)
	size := c.width
	m := newFactors(size, size)
	for a := range size {
		for b := range size {
			m.Set(a, b, float64(float64(c.damping[a]*x.At(a, b))*c.damping[b]))
		}
		if a < c.k {
			m.Set(a, a, m.At(a, a)+1)
		}
	}
	half := c.half().SliceTri(0, size).(*mat.TriDense)
	r := half.RawTriangular()
	blas64.Trmm(blas.Left, blas.Trans, 1, r, m.RawMatrix())
	blas64.Trmm(blas.Right, blas.NoTrans, 1, r, m.RawMatrix()) // now R'M R
	values, vectors := eigen.DenseEigenpairs(eigen.Upper(m))
	f := mat.DenseCopyOf(vectors.Slice(0, size, 0, c.k))
	blas64.Trsm(blas.Left, blas.Trans, 1, r, f.RawMatrix())
	for i := range c.k {
		scale := math.Sqrt(max(values[i], least))
		for a := range size {
			f.Set(a, i, float64(f.At(a, i)*scale))
		}
	}
	return f
}

// half returns the lower triangular R with R R' = Y'Y/n. Its leading blocks are those of fewer vectors.
func (b *basis) half() *mat.TriDense {
	if b.whole != nil {
		return b.whole
	}
	scaled := eigen.Columns(b.n, len(b.vectors))
	for a, v := range b.vectors {
		for i := range v {
			scaled[a][i] = v[i] / b.lengths[i]
		}
	}
	square := eigen.Gram(b.n, scaled, scaled)
	square.Scale(1/float64(b.n), square)
	factor, ok := eigen.Cholesky(eigen.Upper(square))
	if !ok {
		panic("span: an eigenvector is not finite")
	}
	b.whole = factor.Lower()
	return b.whole
}

// rhos are the candidate penalties of a completion.
var rhos = []float64{30, 10, 3, 1, 0.3, 0.1, 0.03}

// leftOut returns the losses of completions on each of some links when it is the only one left out, for every rho,
// without solving (2) for each. With b the residuals of the links and
//
//	K = ((g_i.g_i')(g_j.g_j') + (g_i.g_j')(g_j.g_i')) / 2        of two links (i,j) and (i',j')
//
// X = sum a (g_i g_j' + g_j g_i')/2, a = (K + rho I)^-1 b, solves (2), and the error on a left-out link is a/d, where d
// is the diagonal of (K + rho I)^-1. With weights W, use W^1/2 K W^1/2 and W^1/2 b, and divide the error by W^1/2.
//
// K has at most width (width + 1) / 2 nonzero eigenvalues. If these are fewer than links, fewLeftOut is faster.
func (c *completion) leftOut(subset []int) [][]float64 {
	m := len(subset)
	if c.quick && 2*c.features() <= m {
		return c.fewLeftOut(subset)
	}
	matrix, b, roots := c.kernels(subset)
	values, vectors := eigen.DenseEigenpairs(matrix)
	columns := eigen.ColumnsOf(vectors) // U
	parts := make([]float64, m)         // U'b
	for v, u := range columns {
		parts[v] = elementary.Dot(u, b)
	}
	losses := make([][]float64, len(rhos))
	for i, rho := range rhos {
		a := make([]float64, m)
		d := make([]float64, m)
		for v, u := range columns {
			inverse := 1 / (max(0, values[v]) + rho)
			part := float64(parts[v] * inverse)
			for e, x := range u {
				a[e] += float64(part * x)
				d[e] += float64(float64(x*x) * inverse)
			}
		}
		losses[i] = c.missed(subset, a, d, roots)
	}
	return losses
}

// missed returns the losses of links whose errors are a/d.
func (c *completion) missed(subset []int, a, d, roots []float64) []float64 {
	losses := make([]float64, len(subset))
	for e, which := range subset {
		pair := c.all[which]
		losses[e] = loss(pair.target()-a[e]/d[e]/roots[e], pair)
	}
	return losses
}

// features returns the number of entries of a symmetric matrix of this width.
func (c *completion) features() int { return c.width * (c.width + 1) / 2 }

// fewLeftOut computes leftOut from the features of links, the entries of (g_i g_j' + g_j g_i')/2, with those off the
// diagonal times sqrt 2. With P one row of features per link, K = P P'. With the eigenpairs (e, V) of P'P and U = P V,
//
//	(K + rho I)^-1 = (I - U (e + rho)^-1 U') / rho
func (c *completion) fewLeftOut(subset []int) [][]float64 {
	m := len(subset)
	b, roots := c.sides(subset)
	i := c.ends(subset, firstEnd)
	j := c.ends(subset, secondEnd)
	var features [][]float64 // by columns
	for x := range c.width {
		for y := x; y < c.width; y++ {
			column := make([]float64, m)
			for e := range column {
				v := (float64(i[x][e]*j[y][e]) + float64(i[y][e]*j[x][e])) / 2
				if x != y {
					v *= math.Sqrt2
				}
				column[e] = float64(roots[e] * v)
			}
			features = append(features, column)
		}
	}
	size := len(features)
	values, vectors := eigen.DenseEigenpairs(eigen.Upper(eigen.Gram(m, features, features)))
	images := eigen.Combination(m, features, vectors) // U
	parts := make([]float64, size)                    // U'b
	for v, u := range images {
		parts[v] = elementary.Dot(u, b)
	}
	losses := make([][]float64, len(rhos))
	for at, rho := range rhos {
		a := append([]float64(nil), b...)
		d := clustering.Ones(m) // times rho
		for v, u := range images {
			inverse := 1 / (max(0, values[v]) + rho)
			part := float64(parts[v] * inverse)
			for e, x := range u {
				a[e] -= float64(part * x)
				d[e] -= float64(float64(x*x) * inverse)
			}
		}
		losses[at] = c.missed(subset, a, d, roots)
	}
	return losses
}
