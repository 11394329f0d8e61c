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
package kernel

import (
	"errors"
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
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

// FunctionNamed returns the function with the given name, or 0 if there is none.
func FunctionNamed(name string) Function {
	for f := Function(1); f.String() != ""; f++ {
		if f.String() == name {
			return f
		}
	}
	return 0
}

// String returns the function's name in the catalog, or "" for an unknown function.
func (f Function) String() string {
	names := [...]string{"", "linear", "gaussian", "laplacian", "polynomial", "sigmoid", "cosine", "given", "adjacency"}
	if int(f) >= len(names) {
		return ""
	}
	return names[f]
}

// directional reports whether the function compares directions, which a row of zeros does not have.
func (f Function) directional() bool { return f == Cosine }

// entry computes the kernel value of two points from their inner product and squared lengths.
func (s *MatrixSpec) entry(product, normX, normY float64) float64 {
	switch s.Function {
	case Linear:
		return product
	case Gaussian:
		return exp(-float64(squaredDistance(product, normX, normY) * s.inverseWidth()))
	case Laplacian:
		return exp(-math.Sqrt(squaredDistance(product, normX, normY)) / s.Rho)
	case Polynomial:
		return power(float64(s.Gamma*product)+s.Coef0, s.Degree)
	case Sigmoid:
		return tanh(float64(s.Gamma*product) + s.Coef0)
	case Cosine:
		return product / (math.Sqrt(normX) * math.Sqrt(normY))
	}
	return math.NaN()
}

// Value returns the kernel value of two points from their inner product and squared lengths. Unlike matrix entries, it
// is not rounded to a grid.
func (s *MatrixSpec) Value(product, normX, normY float64) float64 {
	return s.entry(product, normX, normY)
}

// indefiniteBound bounds the entries of kernels that are not positive semidefinite, which Cauchy-Schwarz does not
// cover, from the largest |x|^2: |tanh| <= 1, and polynomials with a negative coefficient are at most (|gamma| max|x|^2
// + |coef0|)^degree. If the kernel is positive semidefinite, indefinite is false.
func (s *MatrixSpec) indefiniteBound(largestNorm float64) (bound float64, indefinite bool) {
	switch {
	case s.Function == Sigmoid:
		return 1, true
	case s.Function == Polynomial && (s.Coef0 < 0 || s.Gamma < 0):
		return power(math.Abs(s.Gamma)*largestNorm+math.Abs(s.Coef0), s.Degree), true
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

// Move is labeling.Move.
type Move = labeling.Move

// Candidate is labeling.Candidate.
type Candidate = labeling.Candidate

// ClusterStats describes the clusters of one lane: what distances need in addition to the row sums. All slices are
// indexed by cluster.
type ClusterStats struct {
	Lane         int
	Sigma        float64   // the diagonal shift
	Weight       []float64 // s_c, the sum of a_i over the cluster
	SelfAffinity []float64 // Q_c, the sum of S_ic over the points i of the cluster, without shift
	Count        []int32   // points in the cluster
}

// Sparse is a symmetric matrix in compressed rows, with ascending columns and values on the grid. Row i has the entries
// RowStart[i] to RowStart[i+1].
type Sparse struct {
	RowStart []int64
	Column   []int32
	Value    []float64
}

// Row returns the columns and values of row i. Both alias the matrix and must not be changed.
func (s *Sparse) Row(i int) ([]int32, []float64) {
	from, to := s.RowStart[i], s.RowStart[i+1]
	return s.Column[from:to:to], s.Value[from:to:to]
}

// Operands turn the base matrix into a clustering problem.
//
// Lanes are independent labelings, such as restarts, that share the matrix: a column is read once for all of
// them. Clusters and labels are numbered as in labeling.Shape.
type Operands struct {
	ID      uint64    // must change whenever anything below changes
	K       int       // clusters per lane
	Lanes   int       // 0 means 1; a graph allows only 1
	Weights []float64 // a_i per row, positive
	Sparse  *Sparse   // the sparse part of M
}

// MaxLanes is the maximum number of lanes of a shard. More would gain nothing.
const MaxLanes = 16

// lanes returns the number of lanes, at least 1.
func (a *Operands) lanes() int { return max(1, a.Lanes) }

// clusters returns the number of clusters of all lanes together.
func (a *Operands) clusters() int { return a.lanes() * a.K }

// ErrNotReady reports that a tile is not built, has no operands, or is at a different step than the operation expects.
// The caller should rebuild it and try again.
var ErrNotReady = errors.New("kernel: tile is not ready")

// The package has its own exponential function. math.Exp may use fused multiply-add, depending on the processor, and so
// has different bits on different machines. This one is a fixed sequence of single roundings, the same in scalar and
// SIMD code.
//
//	x = m ln 2 + r,  |r| <= ln 2 / 2,   exp(x) = 2^m p(r)
//
// where p is the Taylor polynomial of degree 13, whose remainder 0.35^14/14! is below 2^-57. Every product is rounded
// before it is added: the float64 conversions keep the compiler from fusing them.
const (
	log2E          = 1.44269504088896338700e+00
	ln2High        = 6.93147180369123816490e-01 // has 32 significant bits, so that m * ln2High is exact
	ln2Low         = 1.90821492927058770002e-10
	integerRounder = 1.5 * (1 << 52) // (v + integerRounder) - integerRounder rounds v to an integer, ties to even
	minExpArgument = -700            // below it the result is 0, as it would be in float32 anyway
	maxExpArgument = 700
)

// exp returns e^x. It returns 0 below minExpArgument and treats arguments above maxExpArgument as maxExpArgument.
func exp(x float64) float64 {
	if x < minExpArgument {
		return 0
	}
	if x > maxExpArgument {
		x = maxExpArgument
	}
	m := (float64(x*log2E) + integerRounder) - integerRounder
	r := (x - float64(m*ln2High)) - float64(m*ln2Low)
	p := 1.0 / 6227020800
	p = float64(p*r) + 1.0/479001600
	p = float64(p*r) + 1.0/39916800
	p = float64(p*r) + 1.0/3628800
	p = float64(p*r) + 1.0/362880
	p = float64(p*r) + 1.0/40320
	p = float64(p*r) + 1.0/5040
	p = float64(p*r) + 1.0/720
	p = float64(p*r) + 1.0/120
	p = float64(p*r) + 1.0/24
	p = float64(p*r) + 1.0/6
	p = float64(p*r) + 1.0/2
	p = float64(p*r) + 1
	p = float64(p*r) + 1
	return p * math.Float64frombits(uint64(int64(m)+1023)<<52)
}

// Exp returns e^x with the same bits on every machine: 0 below -700, and e^700 above 700.
func Exp(x float64) float64 { return exp(x) }

// tanh returns (1 - e^-2|z|) / (1 + e^-2|z|) with the sign of z, so that tanh(-z) = -tanh(z) to the bit.
func tanh(z float64) float64 {
	t := exp(-2 * math.Abs(z))
	return math.Copysign((1-t)/(1+t), z)
}

// power returns v^p by repeated squaring in a fixed order. p must be at least 1.
func power(v float64, p int) float64 {
	result := 1.0
	for {
		if p&1 == 1 {
			result *= v
		}
		if p >>= 1; p == 0 {
			return result
		}
		v *= v
	}
}
