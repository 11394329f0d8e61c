package picture

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// operator multiplies by a symmetric matrix that is not formed; multiply sets dst = A src, vector by vector.
type operator struct {
	rows     int
	multiply func(dst, src [][]float64)
}

func (o operator) Rows() int { return o.rows }

func (o operator) Multiply(_ context.Context, columns [][]float64) ([][]float64, error) {
	products := zeroVectors(len(columns), o.rows)
	o.multiply(products, columns)
	return products, nil
}

// leadingEigenpairs finds the two algebraically largest eigenvalues of a symmetric operator, in descending order, and unit
// eigenvectors. It stops after so many products, which is accurate enough for a picture. Pairs beyond the size of the operator
// are zero. The start is fixed, so the same operator gives the same answer.
func leadingEigenpairs(n, products int, multiply func(dst, src [][]float64)) (values []float64, vectors [][]float64) {
	values, vectors = make([]float64, 2), zeroVectors(2, n)
	if n <= maxDenseColumns {
		products = max(products, 2*n) // lets the search give up early and solve the dense matrix
	}
	options := eigen.Options{Tolerance: 1e-7, MaxProducts: products}
	// Multiply does not fail, so neither does the search.
	if found, err := eigen.Largest(context.Background(), operator{n, multiply}, min(2, n), rand.New(rand.NewPCG(1, 2)), options); err == nil {
		copy(values, found.Values)
		copy(vectors, found.Vectors)
	}
	return values, vectors
}

func zeroVectors(count, n int) [][]float64 {
	vectors := make([][]float64, count)
	for c := range vectors {
		vectors[c] = make([]float64, n)
	}
	return vectors
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

func addScaled(to []float64, by float64, v []float64) {
	for i, x := range v {
		to[i] += by * x
	}
}

// canonicalSign returns the sign by which to multiply an eigenvector, so that its largest entry is positive; of entries that
// are equally large but for rounding, the first.
func canonicalSign(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = math.Max(largest, math.Abs(x))
	}
	for _, x := range v {
		if math.Abs(x) >= largest*(1-1e-6) {
			return math.Copysign(1, x)
		}
	}
	return 1
}
