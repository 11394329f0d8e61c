package eigen

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/parallel"
)

// length returns the Euclidean length.
func length(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// congruent computes C' M C.
func congruent(m *mat.SymDense, c *mat.Dense) *mat.SymDense {
	var image, result mat.Dense
	image.Mul(m, c)
	result.Mul(c.T(), &image)
	return Upper(&result)
}

// generalized solves A y = value B y for symmetric A and positive definite B. It returns all eigenvalues, largest
// first, and the vectors of the largest ones as columns: count, given all eigenvalues, returns how many. With B = G G'
// the eigenvalues are those of G^-1 A G^-T. It fails only if the context ends or an entry is not finite.
func generalized(
	ctx context.Context, a, b *mat.SymDense, count func(values []float64) int,
) (values []float64, vectors *mat.Dense, err error) {
	n := a.SymmetricDim()
	factor, ok := Cholesky(b)
	if !ok {
		return nil, nil, stalled(n)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	g := lowerRows(factor.Lower())
	half := symmetricRows(a)
	solveForward(g, half) // now the rows of A G^-T, since A is symmetric
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	whole := transposed(half, n)
	solveForward(g, whole)
	reduced := NewSymmetric(n)
	for i, row := range whole {
		for j := i; j < n; j++ {
			reduced.SetSym(i, j, row[j])
		}
	}
	values, vectors, err = LeadingEigenpairs(ctx, reduced, count)
	if err != nil {
		return nil, nil, err
	}
	columns := ColumnsOf(vectors)
	err = parallel.Ranges(ctx, len(columns), 16, func(from, to int) {
		for _, y := range columns[from:to] {
			solveBackward(g, y)
		}
	})
	return values, matrixOf(n, columns), err
}

// lowerRows returns the rows of a lower triangle.
func lowerRows(g *mat.TriDense) [][]float64 {
	raw := g.RawTriangular()
	rows := make([][]float64, raw.N)
	for i := range rows {
		rows[i] = raw.Data[i*raw.Stride:][:i+1]
	}
	return rows
}

// symmetricRows returns the rows of a symmetric matrix.
func symmetricRows(a *mat.SymDense) [][]float64 {
	n := a.SymmetricDim()
	rows := Columns(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			rows[i][j] = a.At(i, j)
			rows[j][i] = rows[i][j]
		}
	}
	return rows
}

// transposed returns the transpose of vectors of the given length.
func transposed(vectors [][]float64, length int) [][]float64 {
	rows := Columns(len(vectors), length)
	for j, v := range vectors {
		for i, x := range v {
			rows[i][j] = x
		}
	}
	return rows
}

// solveForward computes G^-1 x for every x, in place, given the rows of the lower triangle G. G is read once for 16 of
// them, on all threads, which takes a fraction of gonum's time if there are hundreds of rows.
func solveForward(g, x [][]float64) {
	const columnsPerRead = 16
	ranges(len(x), columnsPerRead, func(from, to int) {
		some := x[from:to]
		for len(some)%groupColumns != 0 { // pad to whole groups of four
			some = append(some[:len(some):len(some)], make([]float64, len(g)))
		}
		for i, row := range g {
			for at := 0; at < len(some); at += groupColumns {
				y := [groupColumns][]float64(some[at : at+groupColumns])
				products := plainDots(row[:i], &y)
				for c := range y {
					y[c][i] = (y[c][i] - products[c]) / row[i]
				}
			}
		}
	})
}

// solveBackward computes G^-T y in place.
func solveBackward(g [][]float64, y []float64) {
	for i := len(y) - 1; i >= 0; i-- {
		y[i] /= g[i][i]
		subtractMultiple(y[:i], g[i][:i], y[i])
	}
}
