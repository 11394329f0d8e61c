package eigen

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

// The dense eigensolver for large matrices, see gonumRows. It is Householder's reduction to tridiagonal form, implicit
// QL, and the reflections applied to the vectors, with about n^3 multiplications each. It reads the matrix once for
// each reflection, on all threads, and rotates vectors strip by strip, where gonum rotates whole columns.

// householder is LeadingEigenpairs for large matrices.
func householder(
	ctx context.Context, m *mat.SymDense, count func(values []float64) int,
) (values []float64, vectors *mat.Dense, err error) {
	a, exponent := mirrored(m)
	n := len(a)
	t, err := tridiagonalize(ctx, n, a)
	if err != nil {
		return nil, nil, err
	}
	x, err := t.eigenvectors(ctx)
	if err != nil {
		return nil, nil, err
	}
	order := choose.All[int](n)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.diagonal[j], t.diagonal[i]) })
	for _, i := range order {
		values = append(values, math.Ldexp(t.diagonal[i], exponent))
	}
	chosen := choose.At(x, order[:count(values)])
	if err := t.applyReflections(ctx, chosen); err != nil {
		return nil, nil, err
	}
	for _, v := range chosen {
		Orient(v)
	}
	return values, matrixOf(n, chosen), nil
}

// householderValues is DenseEigenvalues for large matrices.
func householderValues(ctx context.Context, m *mat.SymDense) ([]float64, error) {
	a, exponent := mirrored(m)
	t, err := tridiagonalize(ctx, len(a), a)
	if err != nil {
		return nil, err
	}
	if err := t.diagonalize(ctx, func(int, float64, float64) {}); err != nil {
		return nil, err
	}
	for i := range t.diagonal {
		t.diagonal[i] = math.Ldexp(t.diagonal[i], exponent)
	}
	slices.SortFunc(t.diagonal, func(a, b float64) int { return cmp.Compare(b, a) })
	return t.diagonal, nil
}

// mirrored copies the upper triangle to both triangles, divided by a power of two so that squares neither overflow
// nor vanish. The division is exact.
func mirrored(m *mat.SymDense) (a [][]float64, exponent int) {
	raw := m.RawSymmetric()
	n, largest := raw.N, 0.0
	for i := range n {
		for _, v := range raw.Data[i*raw.Stride+i : i*raw.Stride+n] {
			largest = max(largest, math.Abs(v))
		}
	}
	_, exponent = math.Frexp(largest)
	a = Columns(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			v := math.Ldexp(raw.Data[i*raw.Stride+j], -exponent)
			a[i][j], a[j][i] = v, v
		}
	}
	return a, exponent
}

// tridiagonal is the matrix H A H', where H is a product of reflections I - factor v v'.
type tridiagonal struct {
	diagonal, offDiagonal []float64
	reflections           [][]float64 // reflections[k] is v from entry k+1 on; the entries before are 0
	factors               []float64
}

// tridiagonalize overwrites a. The rank-two change that a reflection makes is applied when the rows are read for
// the next reflection, so that the matrix is read once per step.
func tridiagonalize(ctx context.Context, n int, a [][]float64) (*tridiagonal, error) {
	t := &tridiagonal{diagonal: make([]float64, n), offDiagonal: make([]float64, n), reflections: make([][]float64, n),
		factors: make([]float64, n)}
	v := make([]float64, n)
	q := make([]float64, n) // of the previous reflection; entries before k are no longer used
	p := make([]float64, n)
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := a[k]
		update(row[k:], v[k:], q[k:], q[k:], -q[k], -v[k])
		t.diagonal[k] = row[k]
		if k == n-1 {
			break
		}
		next, rest := row[k+1:], k+1
		norm, factor := reflection(next)
		t.offDiagonal[k], t.factors[k], t.reflections[k] = norm, factor, next
		err := parallel.Ranges(ctx, n-rest, rowsAtATime, func(from, to int) {
			for i := rest + from; i < rest+to; i++ {
				p[i] = float64(factor * update(a[i][rest:], v[rest:], q[rest:], next, -q[i], -v[i]))
			}
		})
		if err != nil {
			return nil, err
		}
		half := float64(factor*plainDot(p[rest:], next)) / 2
		copy(v[rest:], next)
		for i := rest; i < n; i++ {
			q[i] = p[i] - float64(half*v[i])
		}
	}
	return t, nil
}

// rowsAtATime is the grain of parallel work: enough to be worth waking up a thread.
const rowsAtATime = 64

// decoupled is the squared length below which a vector counts as 0 in a matrix whose largest entry is near 1. Such
// vectors are rounding errors in matrices of low rank; further reflections would shrink them until their squares
// underflow.
const decoupled = 0x1p-112

// reflection replaces x by the v for which I - factor v v' maps x to (norm, 0, ..., 0).
func reflection(x []float64) (norm, factor float64) {
	tail := plainDot(x[1:], x[1:])
	if tail <= decoupled {
		norm = x[0]
		clear(x)
		return norm, 0
	}
	norm = -math.Copysign(math.Sqrt(float64(x[0]*x[0])+tail), x[0])
	x[0] -= norm
	return norm, 2 / (float64(x[0]*x[0]) + tail)
}

// rotationChain is a sequence of rotations of neighboring rows, each with the row before it, from row last to lower
// rows.
type rotationChain struct {
	last      int
	rotations []float64 // pairs of cosine and sine
}

// eigenvectors diagonalizes the matrix; row i of the result is the eigenvector of diagonal[i]. Rotations are
// collected, and applied to a strip of 16 columns at a time, which is stored row by row and stays in the cache.
func (t *tridiagonal) eigenvectors(ctx context.Context) ([][]float64, error) {
	const gathered = 1 << 16
	n := len(t.diagonal)
	strips := Columns(n*stripColumns, (n+stripColumns-1)/stripColumns)
	for i := range n {
		strips[i/stripColumns][i*stripColumns+i%stripColumns] = 1
	}
	var chains []rotationChain
	var rotations []float64
	apply := func() {
		ranges(len(strips), 1, func(at, _ int) {
			for _, c := range chains {
				rotateRows(strips[at], c.last, c.rotations)
			}
		})
		chains, rotations = chains[:0], rotations[:0]
	}
	err := t.diagonalize(ctx, func(i int, c, s float64) {
		end := len(chains) - 1
		goesOn := end >= 0 && i == chains[end].last-len(chains[end].rotations)/2-1
		if !goesOn && len(rotations) >= 2*gathered {
			apply()
		}
		rotations = append(rotations, c, s)
		if goesOn {
			grown := &chains[end].rotations
			*grown = rotations[len(rotations)-len(*grown)-2:]
		} else {
			chains = append(chains, rotationChain{i + 1, rotations[len(rotations)-2:]})
		}
	})
	if err != nil {
		return nil, err
	}
	apply()
	x := Columns(n, n)
	err = parallel.Ranges(ctx, n, rowsAtATime, func(from, to int) {
		for at, rows := range strips {
			for i := from; i < to; i++ {
				copy(x[i][at*stripColumns:], rows[i*stripColumns:(i+1)*stripColumns])
			}
		}
	})
	return x, err
}

// diagonalize leaves the eigenvalues on the diagonal, and reports every rotation of rows i and i+1 to onRotation.
func (t *tridiagonal) diagonalize(ctx context.Context, onRotation func(i int, c, s float64)) error {
	largest := 0.0
	for i, d := range t.diagonal {
		largest = max(largest, math.Abs(d), math.Abs(t.offDiagonal[i]))
	}
	for l := range t.diagonal {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !diagonalize(t.diagonal, t.offDiagonal, l, float64(0x1p-54*largest), onRotation) {
			return stalled(len(t.diagonal))
		}
	}
	return nil
}

// applyReflections turns eigenvectors of the tridiagonal matrix into those of the original matrix.
func (t *tridiagonal) applyReflections(ctx context.Context, x [][]float64) error {
	const vectorsPerRead = 16 // vectors that share one read of a reflection
	return parallel.Ranges(ctx, len(x), vectorsPerRead, func(from, to int) {
		some := x[from:to]
		for len(some)%groupColumns != 0 { // pad to whole groups of four
			some = append(some[:len(some):len(some)], make([]float64, len(t.diagonal)))
		}
		for k := len(t.diagonal) - 2; k >= 0; k-- {
			v, factor := t.reflections[k], t.factors[k]
			if factor == 0 {
				continue
			}
			for at := 0; at < len(some); at += groupColumns {
				y := [groupColumns][]float64{some[at][k+1:], some[at+1][k+1:], some[at+2][k+1:], some[at+3][k+1:]}
				shares := plainDots(v, &y)
				for c := range shares {
					shares[c] = -float64(factor * shares[c])
				}
				addTo(&y, v, &shares)
			}
		}
	})
}
