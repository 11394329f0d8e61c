package metric

import (
	"context"
	"math"
)

const (
	negligible = 1.0 / (1 << 56) // relative to the matrix's norm: smaller entries count as 0
	maxSweeps  = 40              // 6 to 12 are typical, because convergence is quadratic
)

// eigen decomposes a symmetric d x d matrix: vectors[c*d : (c+1)*d] is the unit eigenvector of values[c], in no
// particular order. It uses Jacobi's method, which rotates the entries above the diagonal to 0, one after the other.
// That is slower than other methods, about 50 d^3 multiplications (under a second for d = 300, half a minute for d =
// 1000). But it is short, exact to rounding even for eigenvalues that are close together, and avoids the assembly of
// general libraries, whose sums have different bits on different processors. It fails only if the context ends.
func eigen(ctx context.Context, d int, matrix []float64) (values, vectors []float64, err error) {
	a, exponent := scaledToOne(matrix)
	v := make([]float64, d*d)
	norm := 0.0
	for i := range d {
		v[i*d+i] = 1
		for _, entry := range a[i*d : (i+1)*d] {
			norm += float64(entry * entry)
		}
	}
	enough := negligible * math.Sqrt(norm)
	for turned, sweep := true, 0; turned && sweep < maxSweeps; sweep++ {
		turned = false
		for p := range d {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			for q := p + 1; q < d; q++ {
				if math.Abs(a[p*d+q]) > enough {
					rotateAway(d, a, v, p, q)
					turned = true
				}
			}
		}
	}
	values = make([]float64, d)
	for i := range values {
		values[i] = math.Ldexp(a[i*d+i], exponent)
	}
	return values, v, nil
}

// scaledToOne returns a copy of the matrix divided by 2^exponent, so that squares neither overflow nor vanish. The
// division is exact.
func scaledToOne(matrix []float64) (scaled []float64, exponent int) {
	largest := 0.0
	for _, v := range matrix {
		largest = max(largest, math.Abs(v))
	}
	_, exponent = math.Frexp(largest)
	scaled = make([]float64, len(matrix))
	for i, v := range matrix {
		scaled[i] = math.Ldexp(v, -exponent)
	}
	return scaled, exponent
}

// rotateAway rotates the plane of axes p and q so that entry (p, q) becomes 0.
func rotateAway(d int, a, v []float64, p, q int) {
	entry := a[p*d+q]
	slope := (a[q*d+q] - a[p*d+p]) / (2 * entry)
	tangent := math.Copysign(1/(math.Abs(slope)+math.Sqrt(float64(slope*slope)+1)), slope)
	cosine := 1 / math.Sqrt(float64(tangent*tangent)+1)
	sine := tangent * cosine
	onDiagonal := float64(tangent * entry)
	app, aqq := a[p*d+p]-onDiagonal, a[q*d+q]+onDiagonal
	rotate(a[p*d:(p+1)*d], a[q*d:(q+1)*d], cosine, sine)
	rotate(v[p*d:(p+1)*d], v[q*d:(q+1)*d], cosine, sine)
	for r := range d {
		a[r*d+p], a[r*d+q] = a[p*d+r], a[q*d+r]
	}
	a[p*d+p], a[q*d+q], a[p*d+q], a[q*d+p] = app, aqq, 0, 0
}

func rotate(x, y []float64, cosine, sine float64) {
	for i, u := range x {
		w := y[i]
		x[i] = float64(cosine*u) - float64(sine*w)
		y[i] = float64(sine*u) + float64(cosine*w)
	}
}

// cholesky computes the lower triangle L with L L' = A, stored row by row in d x d values. ok is false if A is not
// positive definite, up to rounding. It takes d^3/3 multiplications.
func cholesky(d int, a []float64) (factor []float64, ok bool) {
	l := make([]float64, d*d)
	for i := range d {
		for j := range i + 1 {
			rest := a[i*d+j]
			for k := range j {
				rest -= float64(l[i*d+k] * l[j*d+k])
			}
			if i != j {
				l[i*d+j] = rest / l[j*d+j]
				continue
			}
			if !(rest > 0) || math.IsInf(rest, 1) {
				return nil, false
			}
			l[i*d+i] = math.Sqrt(rest)
		}
	}
	return l, true
}
