package picture

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

const (
	spareVectors         = 4    // more vectors than wanted, for faster convergence
	convergenceTolerance = 1e-9 // the iteration ends when eigenvalues change by less, relatively
)

// leadingEigenpairs finds the algebraically largest eigenvalues, in descending order, and unit
// eigenvectors of a symmetric operator A, by subspace iteration with a Rayleigh-Ritz step. multiply sets
// dst = A src, vector by vector. Vectors beyond the rank of A may be zero. The start is fixed, so the
// same operator gives the same answer. Without a gap in the spectrum the iteration may not converge, but
// for a picture the accuracy is enough.
func leadingEigenpairs(n, count, iterations int, multiply func(dst, src [][]float64)) (values []float64, vectors [][]float64) {
	size := min(n, count+spareVectors)
	generator := rand.New(rand.NewPCG(1, 2))
	basis, image := zeroVectors(size, n), zeroVectors(size, n)
	for _, v := range basis {
		for i := range v {
			v[i] = generator.NormFloat64()
		}
	}
	values = make([]float64, count)
	for range max(1, iterations) {
		orthonormalize(basis)
		multiply(image, basis)
		ritz, rotation := rayleighRitz(basis, image)
		basis, image = rotate(basis, rotation), rotate(image, rotation)
		change, scale := 0.0, 0.0
		for c := range min(count, size) {
			change = math.Max(change, math.Abs(ritz[c]-values[c]))
			scale = math.Max(scale, math.Abs(ritz[c]))
			values[c] = ritz[c]
		}
		if change <= convergenceTolerance*scale {
			break
		}
		basis, image = image, basis
	}
	// Whether the loop ended before or after the swap, the vectors span the wanted space.
	orthonormalize(basis)
	vectors = zeroVectors(count, n)
	copy(vectors, basis[:min(count, size)])
	return values, vectors
}

func zeroVectors(count, n int) [][]float64 {
	vectors := make([][]float64, count)
	for c := range vectors {
		vectors[c] = make([]float64, n)
	}
	return vectors
}

// rayleighRitz solves the small problem basis' A basis and returns its eigenvalues, descending,
// with the rotation of the basis to the Ritz vectors.
func rayleighRitz(basis, image [][]float64) (values []float64, rotation *mat.Dense) {
	size := len(basis)
	small := mat.NewSymDense(size, nil)
	for a := range size {
		for b := a; b < size; b++ {
			small.SetSym(a, b, (dot(basis[a], image[b])+dot(basis[b], image[a]))/2)
		}
	}
	return eigenDescending(small)
}

// eigenDescending is the whole decomposition of a small symmetric matrix, largest value first;
// column c of vectors belongs to values[c].
func eigenDescending(m mat.Symmetric) (values []float64, vectors *mat.Dense) {
	size := m.SymmetricDim()
	values, vectors = make([]float64, size), mat.NewDense(size, size, nil)
	var eigen mat.EigenSym
	if !eigen.Factorize(m, true) {
		// Only a matrix that is not finite fails, and callers have none.
		for c := range size {
			vectors.Set(c, c, 1)
		}
		return values, vectors
	}
	var ascending mat.Dense
	eigen.VectorsTo(&ascending)
	for c := range size {
		values[c] = eigen.Values(nil)[size-1-c]
		for r := range size {
			vectors.Set(r, c, ascending.At(r, size-1-c))
		}
	}
	return values, vectors
}

func rotate(vectors [][]float64, rotation *mat.Dense) [][]float64 {
	rotated := zeroVectors(len(vectors), len(vectors[0]))
	for to, out := range rotated {
		for from, in := range vectors {
			addScaled(out, rotation.At(from, to), in)
		}
	}
	return rotated
}

// orthonormalize makes the vectors orthonormal, in order; one that depends on those before it becomes
// zero. It subtracts projections twice to remove the rounding errors of the first time.
func orthonormalize(vectors [][]float64) {
	for c, v := range vectors {
		before := norm(v)
		for range 2 {
			for _, u := range vectors[:c] {
				addScaled(v, -dot(u, v), u)
			}
		}
		length := norm(v)
		for i := range v {
			if length <= 1e-12*before || length < 1e-250 {
				v[i] = 0
			} else {
				v[i] /= length
			}
		}
	}
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

// canonicalSign is the sign by which to multiply an eigenvector, so that its largest entry is positive;
// of entries that are equally large but for rounding, the first.
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
