package spectral

import (
	"cmp"
	"math"
	"slices"
)

// Dense gives all eigenpairs of a symmetric n x n matrix, row by row in values, of which the upper
// triangle alone is read: largest eigenvalue first, vectors of length 1 with their entry of
// largest magnitude positive. Householder's reduction to tridiagonal form, implicit QL, and the
// reflections again: about n^3 multiplications each. General libraries are faster, but the bits of
// their sums depend on the processor.
func Dense(n int, values []float64) (eigenvalues []float64, vectors [][]float64) {
	a, exponent := mirrored(n, values)
	t := tridiagonalise(n, a)
	x := t.eigenvectors()
	t.undo(x)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.diagonal[j], t.diagonal[i]) })
	for _, i := range order {
		orient(x[i])
		eigenvalues = append(eigenvalues, math.Ldexp(t.diagonal[i], exponent))
		vectors = append(vectors, x[i])
	}
	return eigenvalues, vectors
}

// mirrored copies the upper triangle to both, divided by a power of two, which is exact, so that
// squares neither overflow nor vanish.
func mirrored(n int, values []float64) (a [][]float64, exponent int) {
	largest := 0.0
	for i := range n {
		for _, v := range values[i*n+i : (i+1)*n] {
			largest = max(largest, math.Abs(v))
		}
	}
	_, exponent = math.Frexp(largest)
	a = columns(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			v := math.Ldexp(values[i*n+j], -exponent)
			a[i][j], a[j][i] = v, v
		}
	}
	return a, exponent
}

// tridiagonal is H A H' for a product H of reflections I - factor v v'.
type tridiagonal struct {
	diagonal, beside []float64
	reflections      [][]float64 // of number k: v from entry k+1 on
	factors          []float64
}

// tridiagonalise eats a. The change of rank two that a reflection makes is applied when its rows are
// read for the next one: the matrix goes through memory once a step.
func tridiagonalise(n int, a [][]float64) *tridiagonal {
	t := &tridiagonal{diagonal: make([]float64, n), beside: make([]float64, n), reflections: make([][]float64, n), factors: make([]float64, n)}
	v, q := make([]float64, n), make([]float64, n) // of the reflection before; entries below k are stale
	p := make([]float64, n)
	for k := range n {
		row := a[k]
		update(row[k:], v[k:], q[k:], v[k], q[k])
		t.diagonal[k] = row[k]
		if k == n-1 {
			break
		}
		next, rest := row[k+1:], k+1
		norm, factor := reflection(next)
		t.beside[k], t.factors[k], t.reflections[k] = norm, factor, next
		inParallel(n-rest, rowsAtATime, func(from, to int) {
			for i := rest + from; i < rest+to; i++ {
				update(a[i][rest:], v[rest:], q[rest:], v[i], q[i])
				p[i] = float64(factor * plainDot(a[i][rest:], next))
			}
		})
		half := float64(factor*plainDot(p[rest:], next)) / 2
		copy(v[rest:], next)
		for i := rest; i < n; i++ {
			q[i] = p[i] - float64(half*v[i])
		}
	}
	return t
}

// rowsAtATime is the grain of parallel work: enough to be worth waking a thread.
const rowsAtATime = 64

// update subtracts row i of v q' + q v'.
func update(row, v, q []float64, vi, qi float64) {
	v, q = v[:len(row)], q[:len(row)]
	for j := range row {
		row[j] -= float64(vi*q[j]) + float64(qi*v[j])
	}
}

// decoupled is a square that is 0 in a matrix whose largest entry is near 1. Below it are the remains
// of rounding in matrices of low rank; reflected on, they would shrink until their squares vanish.
const decoupled = 0x1p-112

// reflection turns x into the v for which I - factor v v' takes x to (norm, 0, ..., 0).
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

// plainDot sums in order, four sums side by side.
func plainDot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += float64(x[i] * y[i])
		s1 += float64(x[i+1] * y[i+1])
		s2 += float64(x[i+2] * y[i+2])
		s3 += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		s0 += float64(x[i] * y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

type rotation struct {
	at           int
	cosine, sine float64
}

// eigenvectors diagonalises; row i of the result is the eigenvector of diagonal[i]. Rotations are
// gathered, and applied to a strip of columns at a time that stays in the cache.
func (t *tridiagonal) eigenvectors() [][]float64 {
	const (
		gathered = 1 << 16
		strip    = 64
	)
	n := len(t.diagonal)
	x := columns(n, n)
	for i := range x {
		x[i][i] = 1
	}
	var turns []rotation
	apply := func() {
		inParallel(n, strip, func(from, to int) {
			for _, r := range turns {
				rotate(x[r.at][from:to], x[r.at+1][from:to], r.cosine, r.sine)
			}
		})
		turns = turns[:0]
	}
	largest := 0.0
	for i, d := range t.diagonal {
		largest = max(largest, math.Abs(d), math.Abs(t.beside[i]))
	}
	for l := range n {
		diagonalise(t.diagonal, t.beside, l, float64(0x1p-54*largest), func(i int, c, s float64) {
			turns = append(turns, rotation{i, c, s})
		})
		if len(turns) >= gathered {
			apply()
		}
	}
	apply()
	return x
}

func rotate(x, y []float64, cosine, sine float64) {
	y = y[:len(x)]
	for i, u := range x {
		w := y[i]
		x[i] = float64(cosine*u) - float64(sine*w)
		y[i] = float64(sine*u) + float64(cosine*w)
	}
}

// undo takes eigenvectors of the tridiagonal matrix to those of the matrix it came from.
func (t *tridiagonal) undo(x [][]float64) {
	const together = 16 // vectors that share a reading of the reflections
	inParallel(len(x), together, func(from, to int) {
		for k := len(t.diagonal) - 2; k >= 0; k-- {
			v, factor := t.reflections[k], t.factors[k]
			if factor == 0 {
				continue
			}
			for _, y := range x[from:to] {
				subtractMultiple(y[k+1:], v, float64(factor*plainDot(v, y[k+1:])))
			}
		}
	})
}
