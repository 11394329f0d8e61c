// Package kernel contains the hot code of kernel-based clustering: kernel functions, tiles of the affinity matrix, and
// the exact sweeps over them. Code belongs here if it reads or computes matrix entries; algorithms that only use sums
// and distances belong in package clustering.
//
// The matrix is M = base + sparse. The base matrix (kernel values of points, a given kernel matrix, a graph) lives in
// tiles of consecutive rows; the sparse part carries the constraints and, for ratio cut, the negative degrees. Every
// entry is a multiple of one power of two, the grid, chosen so that sums along a row are exact in float64. That makes
// the row sums
//
//	S_ic = sum of M_ij over j in cluster c
//
// independent of the order of summation: a sum that is updated by the points that moved has the same bits as one that
// is computed from scratch, on any worker.
//
// These words have one meaning each:
//
//   - A tile is a range of consecutive rows of the matrix with their sums: what a worker holds and a thread works on.
//   - A lane is one of several independent labelings, such as restarts, that share the matrix.
//   - A sweep brings the sums of tiles to the labels of the next step; a plan says what it does to them.
//   - A transfer is a part of a plan: a column that leaves the sums of a cluster, joins those of another, or both.
//   - A window is the consecutive columns whose transfers a tile applies while the columns are in the cache.
//   - A run is the transfers of a window between the same clusters.
//   - A pass is the few columns of a run that are added up in registers before they reach the sums.
//   - A bundle is several vectors that the matrix is multiplied with at once, and a panel the consecutive columns of a
//     tile that are multiplied with bundles while they are in the cache.
//   - A block is a few points of a lane with their sums and the entries between them, for decisions about them alone.
package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/text"
)

// This file contains everything the package knows about individual kernel functions. The catalog has the rest:
// parameters, centering and speed.

// Function selects how the entries of the base matrix are computed. The zero value is not a valid function.
type Function uint8

// The kernel functions of points, and the two kinds of matrices that are provided by the caller.
const (
	Linear     Function = 1 // x.y
	Gaussian   Function = 2 // exp(-|x-y|^2 / (2 rho^2))
	Laplacian  Function = 3 // exp(-|x-y| / rho)
	Polynomial Function = 4 // (gamma x.y + coef0)^degree
	Sigmoid    Function = 5 // tanh(gamma x.y + coef0)
	Cosine     Function = 6 // x.y / (|x| |y|)
	Given      Function = 7 // an entry of a given kernel matrix
	Adjacency  Function = 8 // the weight of an edge of a graph
)

// OfPoints reports whether the function is computed from two points, rather than read from a given matrix or graph.
func (f Function) OfPoints() bool { return f != Given && f != Adjacency && f.String() != "" }

// String returns the function's name in the catalog, or "" for an unknown function.
func (f Function) String() string {
	return text.Name(f, "", "linear", "gaussian", "laplacian", "polynomial", "sigmoid", "cosine", "given", "adjacency")
}

// Directional reports whether the function compares directions. An all-zero row has no direction.
func (f Function) Directional() bool { return f == Cosine }

// Value returns the kernel value of two points from their inner product and squared lengths. Unlike matrix entries, it
// is not rounded to a grid.
func (s *MatrixSpec) Value(product, normX, normY float64) float64 {
	switch s.Function {
	case Linear:
		return product
	case Gaussian:
		return elementary.Exp(-float64(squaredDistance(product, normX, normY) * s.inverseWidth()))
	case Laplacian:
		return elementary.Exp(-math.Sqrt(squaredDistance(product, normX, normY)) / s.Rho)
	case Polynomial:
		return power(float64(s.Gamma*product)+s.Coef0, s.Degree)
	case Sigmoid:
		return tanh(float64(s.Gamma*product) + s.Coef0)
	case Cosine:
		return product / (math.Sqrt(normX) * math.Sqrt(normY))
	}
	return math.NaN()
}

// indefiniteBound bounds the entries of kernels that are not positive semidefinite, which Cauchy-Schwarz does not
// cover, from the largest |x|^2: |tanh| <= 1, and polynomials with a negative coefficient are at most (|gamma| max|x|^2
// + |coef0|)^degree. If the kernel is positive semidefinite, indefinite is false.
func (s *MatrixSpec) indefiniteBound(largestNorm float64) (bound float64, indefinite bool) {
	switch {
	case s.Function == Sigmoid:
		return 1, true
	case s.Function == Polynomial && (s.Coef0 < 0 || s.Gamma < 0):
		return power(float64(math.Abs(s.Gamma)*largestNorm)+math.Abs(s.Coef0), s.Degree), true
	}
	return 0, false
}

// inverseWidth returns the factor of the squared distance in the Gaussian kernel.
func (s *MatrixSpec) inverseWidth() float64 { return 1 / (2 * s.Rho * s.Rho) }

// squaredDistance returns (|x|^2 + |y|^2) - 2 x.y. It is never negative, and exactly 0 for x = y.
func squaredDistance(product, normX, normY float64) float64 {
	return max(0, (normX+normY)-2*product)
}

// MatrixSpec determines every entry of the base matrix to the last bit. All workers of a job use the same spec. It is
// small except for Mean and Scale.
type MatrixSpec struct {
	Function          Function
	Rho, Gamma, Coef0 float64
	Degree            int
	ZeroDiagonal      bool
	Grid              Grid
	Rows              int
	Columns           int       // features of points, rows of a given matrix, 0 for a graph
	Entries           int64     // number of entries of sparse points, at least 1; 0 for all other data
	Mean              []float64 // per feature, subtracted from the points; nil means no centering
	HalfScale         float64   // entries are float16 multiples of this; 0 if they are float32
	Scale             []float64 // per row, the a_i in a_i a_j k(x_i, x_j); nil if all are 1
}

// tanh returns (1 - e^-2|z|) / (1 + e^-2|z|) with the sign of z, so that tanh(-z) = -tanh(z) to the bit.
func tanh(z float64) float64 {
	t := elementary.Exp(-2 * math.Abs(z))
	return math.Copysign((1-t)/(1+t), z)
}

// power returns v^p by repeated squaring in a fixed order. p must be at least 1.
func power(v float64, p int) float64 {
	result := 1.0
	for {
		if p&1 == 1 {
			result *= v
		}
		p >>= 1
		if p == 0 {
			return result
		}
		v *= v
	}
}
