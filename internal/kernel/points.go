package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// pointSet is the points as kernels see them: centred, in float32, with their squared lengths.
// Products of two float32 are exact in float64, so x.y in feature order has the same bits with or
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

// lanes is how many rows of a tile are multiplied side by side, each in a register of its own.
const lanes = 4

// pack lays rows [from, to) out in groups of `lanes`, feature by feature, as float64, padding the
// last group with zeros: the inner loop of products then reads one stream.
func (p *pointSet) pack(from, to int) []float64 {
	groups := (to - from + lanes - 1) / lanes
	packed := make([]float64, groups*lanes*p.d)
	for i := from; i < to; i++ {
		group, lane := (i-from)/lanes, (i-from)%lanes
		for f, v := range p.row(i) {
			packed[(group*p.d+f)*lanes+lane] = float64(v)
		}
	}
	return packed
}

// products computes x_i.y for every packed row i, each summed in feature order.
func products(dst, packed []float64, y []float32) {
	d := len(y)
	for group := 0; group*lanes < len(dst); group++ {
		rows := packed[group*d*lanes : (group+1)*d*lanes]
		var s0, s1, s2, s3 float64
		for f, v := range y {
			w := float64(v)
			at := rows[f*lanes : f*lanes+lanes : f*lanes+lanes]
			s0 += at[0] * w
			s1 += at[1] * w
			s2 += at[2] * w
			s3 += at[3] * w
		}
		out := dst[group*lanes : group*lanes+lanes : group*lanes+lanes]
		out[0], out[1], out[2], out[3] = s0, s1, s2, s3
	}
}

// entry is the kernel value of two points from their product and squared lengths.
func (s *Spec) entry(product, normX, normY float64) float64 {
	switch s.Function {
	case Linear:
		return product
	case Gaussian:
		return exp(-squaredDistance(product, normX, normY) / (2 * s.Rho * s.Rho))
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

// entries turns products into kernel values, in place: the function is chosen once, not per entry.
func (s *Spec) entries(products, norms []float64, normY float64) {
	switch s.Function {
	case Linear:
	case Gaussian:
		width := 2 * s.Rho * s.Rho
		for r, product := range products {
			products[r] = exp(-squaredDistance(product, norms[r], normY) / width)
		}
	default:
		for r, product := range products {
			products[r] = s.entry(product, norms[r], normY)
		}
	}
}

// squaredDistance is (|x|^2 + |y|^2) - 2 x.y, never below 0 for rounding; it is exactly 0 for x = y.
func squaredDistance(product, normX, normY float64) float64 {
	return max(0, (normX+normY)-2*product)
}
