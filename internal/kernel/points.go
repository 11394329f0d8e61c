package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// pointSet is the points as kernels see them: centered, in float32, with their squared lengths. The product
// of two float32 is exact in float64, so that x.y, summed in feature order, has the same bits with and
// without fused multiply-add.
type pointSet struct {
	n, d   int
	values []float32 // row by row
	norms  []float64 // |x_i|^2, summed in feature order
}

func newPointSet(points *dataset.Points, mean []float64) (*pointSet, error) {
	p := &pointSet{n: points.N, d: points.D, values: make([]float32, len(points.Values)), norms: make([]float64, points.N)}
	for i := range p.n {
		row := p.row(i)
		for f, v := range points.Row(i) {
			if mean != nil {
				v -= mean[f]
			}
			row[f] = float32(v)
			if math.IsInf(float64(row[f]), 0) {
				return nil, fault.Invalid("OUT_OF_FLOAT32_RANGE",
					"row %d, column %d is %g, beyond what float32 holds; scale the data", i, f, v)
			}
		}
		norm := 0.0
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		p.norms[i] = norm
	}
	return p, nil
}

func (p *pointSet) row(i int) []float32 { return p.values[i*p.d : (i+1)*p.d : (i+1)*p.d] }

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

// inverseWidth is the factor of the squared distance in the Gaussian kernel.
func (s *MatrixSpec) inverseWidth() float64 { return 1 / (2 * s.Rho * s.Rho) }

// squaredDistance is (|x|^2 + |y|^2) - 2 x.y. Rounding never makes it negative, and it is exactly 0 for x = y.
func squaredDistance(product, normX, normY float64) float64 {
	return max(0, (normX+normY)-2*product)
}
