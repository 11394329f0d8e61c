package eigen

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/parallel"
)

// Flatten concatenates the rows of a square matrix.
func Flatten(m [][]float64) []float64 {
	all := make([]float64, 0, len(m)*len(m))
	for _, row := range m {
		all = append(all, row...)
	}
	return all
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

// length returns the Euclidean length.
func length(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// congruent computes C' M C, given the columns of C.
func congruent(m, c [][]float64) [][]float64 {
	image := Columns(len(m), len(c))
	for j, x := range c {
		for i, row := range m {
			image[j][i] = plainDot(row, x)
		}
	}
	result := Columns(len(c), len(c))
	for i, x := range c {
		for j := i; j < len(c); j++ {
			result[i][j] = plainDot(x, image[j])
			result[j][i] = result[i][j]
		}
	}
	return result
}

// generalized solves A y = value B y for symmetric A and positive definite B. It returns all eigenvalues, largest
// first, and the vectors of the largest ones: count, given all eigenvalues, returns how many. With B = G G' the
// eigenvalues are those of G^-1 A G^-T. A pivot of B that rounding has made negative is replaced by a tiny one. It
// fails only if the context ends or an entry is not finite.
func generalized(ctx context.Context, a, b [][]float64, count func(values []float64) int) (values []float64, vectors [][]float64, err error) {
	g := Cholesky(b)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	half := ForwardAll(g, a) // the rows of A G^-T, since A is symmetric
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	reduced := ForwardAll(g, transposed(half, len(a)))
	values, vectors, err = LeadingEigenpairs(ctx, len(a), Flatten(reduced), count)
	parallel.Ranges(len(vectors), 16, func(from, to int) {
		for _, y := range vectors[from:to] {
			Backward(g, y)
		}
	})
	return values, vectors, err
}

// Cholesky computes the lower triangle G with B = G G', a panel of columns at a time, whose rows stay in the cache.
func Cholesky(b [][]float64) [][]float64 {
	const panel = 64
	n := len(b)
	g := Columns(n, n)
	largest := 0.0
	for i := range n {
		largest = max(largest, b[i][i])
	}
	left := func(i, j int) float64 { return b[i][j] - plainDot(g[i][:j], g[j][:j]) }
	for from := 0; from < n; from += panel {
		to := min(from+panel, n)
		for i := from; i < to; i++ {
			for j := from; j < i; j++ {
				g[i][j] = left(i, j) / g[j][j]
			}
			g[i][i] = math.Sqrt(max(left(i, i), float64(0x1p-52*largest)))
		}
		parallel.Ranges(n-to, rowsAtATime, func(first, last int) {
			i := to + first
			for ; i+groupColumns <= to+last && to-from == panel; i += groupColumns {
				eliminate(b, g, i, from, to)
			}
			for ; i < to+last; i++ {
				for j := from; j < to; j++ {
					g[i][j] = left(i, j) / g[j][j]
				}
			}
		})
	}
	return g
}

// eliminate computes the columns of a panel for four rows of G below it, four at a time. The sums are those of
// plainDot: the columns before a multiple of the lanes are multiplied together, and at most seven are left.
func eliminate(b, g [][]float64, i, from, to int) {
	rows := [groupColumns][]float64(g[i : i+groupColumns])
	for first := from; first < to; first += groupColumns {
		var sums [groupColumns * groupColumns * lanes]float64
		columns, whole := [groupColumns][]float64(g[first:first+groupColumns]), first/lanes*lanes
		if whole > 0 {
			x, y := upTo(&rows, whole), upTo(&columns, whole)
			dotBlock(&sums, &x, &y)
		}
		for at, row := range rows {
			for c, column := range columns {
				j := first + c
				left := b[i+at][j] - folded(sums[(at*groupColumns+c)*lanes:][:lanes], row[whole:j], column[whole:j])
				row[j] = left / column[j]
			}
		}
	}
}

// ForwardAll computes G^-1 x for every x, in new columns. G is read once for 16 of them.
func ForwardAll(g, columns [][]float64) [][]float64 {
	const columnsPerRead = 16
	x := cloneColumns(columns)
	parallel.Ranges(len(x), columnsPerRead, func(from, to int) {
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
	return x
}

// Forward solves G x = y in place.
func Forward(g [][]float64, y []float64) {
	for i, row := range g {
		y[i] = (y[i] - plainDot(row[:i], y[:i])) / row[i]
	}
}

// Backward solves G'x = y in place.
func Backward(g [][]float64, y []float64) {
	for i := len(y) - 1; i >= 0; i-- {
		y[i] /= g[i][i]
		subtractMultiple(y[:i], g[i][:i], y[i])
	}
}
