package metric

import "math"

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
