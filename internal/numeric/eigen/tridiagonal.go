package eigen

import "math"

// extremes returns the least and the largest eigenvalue of the symmetric tridiagonal matrix with diagonal alpha and
// off-diagonal beta, and the last component of the least one's unit eigenvector. It is the implicit QL algorithm,
// whose rotations are applied to the last row of the identity.
func extremes(alpha, beta []float64) (least, largest, lastComponent float64) {
	m := len(alpha)
	d := append([]float64(nil), alpha...)
	e := append(append([]float64(nil), beta[:m-1]...), 0)
	row := make([]float64, m)
	row[m-1] = 1
	for l := range m {
		diagonalize(d, e, l, 0, func(i int, c, s float64) {
			f := row[i+1]
			row[i+1] = float64(s*row[i]) + float64(c*f)
			row[i] = float64(c*row[i]) - float64(s*f)
		})
	}
	at := 0
	largest = d[0]
	for i, v := range d {
		if v < d[at] {
			at = i
		}
		largest = max(largest, v)
	}
	return d[at], largest, row[at]
}

// diagonalize drives e[l] to zero by implicit QL steps with Wilkinson's shift. An off-diagonal entry counts as zero
// if it is negligible compared with the diagonal entries next to it, or if it is below least. Without the latter,
// entries at the level of rounding next to eigenvalues of 0 would shrink until their squares vanish. onRotation is
// called for every rotation of the columns i and i+1 of the eigenvectors, with its cosine c and sine s. It reports
// whether e[l] is zero in the end, which only a matrix that is not finite prevents.
func diagonalize(d, e []float64, l int, least float64, onRotation func(i int, c, s float64)) (converged bool) {
	const maxRounds = 100 // a handful suffices in practice
	for range maxRounds {
		end := l
		for ; end < len(d)-1; end++ {
			if size := math.Abs(e[end]); size <= least || size <= 0x1p-52*(math.Abs(d[end])+math.Abs(d[end+1])) {
				break
			}
		}
		if end == l {
			return true
		}
		g := (d[l+1] - d[l]) / (2 * e[l])
		r := math.Sqrt(float64(g*g) + 1)
		g = d[end] - d[l] + e[l]/(g+math.Copysign(r, g))
		s, c, p := 1.0, 1.0, 0.0
		i := end - 1
		for ; i >= l; i-- {
			f, b := float64(s*e[i]), float64(c*e[i])
			r = math.Sqrt(float64(f*f) + float64(g*g))
			e[i+1] = r
			if r == 0 {
				d[i+1] -= p
				e[end] = 0
				break
			}
			s, c = f/r, g/r
			g = d[i+1] - p
			r = float64((d[i]-g)*s) + float64(2*c*b)
			p = float64(s * r)
			d[i+1] = g + p
			g = float64(c*r) - b
			onRotation(i, c, s)
		}
		if r == 0 && i >= l {
			continue
		}
		d[l] -= p
		e[l] = g
		e[end] = 0
	}
	return false
}
