package kernel

import "math"

// This file is all that the package knows of each kernel function. The catalog has the rest: parameters, centering
// and speed.

// Function says how the entries of the base matrix are computed.
type Function uint8

// The kernel functions of points, and the two kinds of matrices that are given.
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

// FunctionNamed returns the function with a name, or 0 if there is none.
func FunctionNamed(name string) Function {
	for f := Function(1); f.String() != ""; f++ {
		if f.String() == name {
			return f
		}
	}
	return 0
}

// String returns the name of the function in the catalog, or "" for an unknown function.
func (f Function) String() string {
	names := [...]string{"", "linear", "gaussian", "laplacian", "polynomial", "sigmoid", "cosine", "given", "adjacency"}
	if int(f) >= len(names) {
		return ""
	}
	return names[f]
}

// directional tells whether the function compares directions, which a row of zeros does not have.
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

// Value is the kernel value of two points, whose inner product and squared lengths are given, without the rounding of entries
// to a grid.
func (s *MatrixSpec) Value(product, normX, normY float64) float64 {
	return s.entry(product, normX, normY)
}

// indefiniteBound bounds the entries of kernels that are not positive semidefinite, which Cauchy-Schwarz does not
// cover, by the largest |x|^2: |tanh| <= 1, and polynomials with a negative coefficient are at most
// (|gamma| max|x|^2 + |coef0|)^degree.
func (s *MatrixSpec) indefiniteBound(largestNorm float64) (bound float64, indefinite bool) {
	switch {
	case s.Function == Sigmoid:
		return 1, true
	case s.Function == Polynomial && (s.Coef0 < 0 || s.Gamma < 0):
		return power(math.Abs(s.Gamma)*largestNorm+math.Abs(s.Coef0), s.Degree), true
	}
	return 0, false
}

// inverseWidth is the factor of the squared distance in the Gaussian kernel.
func (s *MatrixSpec) inverseWidth() float64 { return 1 / (2 * s.Rho * s.Rho) }

// squaredDistance is (|x|^2 + |y|^2) - 2 x.y. Rounding never makes it negative, and it is exactly 0 for x = y.
func squaredDistance(product, normX, normY float64) float64 {
	return max(0, (normX+normY)-2*product)
}
