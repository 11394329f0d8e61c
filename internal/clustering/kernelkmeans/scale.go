package kernelkmeans

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// The unit of a graph's weights. Distances divide by squares of degrees, and a constraint without a weight weighs
// about 1, so weights far from 1 would overflow, underflow, or vanish beside the constraints. A graph whose largest
// weight is not within 2^-20 .. 2^20 is therefore clustered in another unit, a power of two, in which that weight is
// from 1/4 to 1. No bit of a weight changes. Given weights and shifts are converted to that unit, and reported values
// from it; constraints without a weight have their default weight in it.

const (
	// maxExponent bounds the exponent of a graph's largest weight.
	maxExponent = 20
	// maxUnitExponent bounds the exponent of the unit, so that the factors of two rows have a finite product. Only
	// graphs of subnormal weights would have a larger one.
	maxUnitExponent = 1022
)

// setUnit sets the exponent e of the unit: the matrix is 2^e times the weights of the graph.
func (p *Problem) setUnit() {
	if p.graph == nil {
		return
	}
	largest := math.MinInt // exponent of |w| a_i a_j
	if p.weights == nil {
		heaviest := 0.0
		for _, w := range p.graph.Weight {
			if magnitude := math.Abs(w); magnitude > heaviest { // the builtin max is slower, because it handles NaN
				heaviest = magnitude
			}
		}
		if heaviest > 0 {
			_, largest = math.Frexp(heaviest)
		}
	} else {
		for i := range p.n {
			neighbors, weights := p.graph.Row(i)
			_, ofRow := math.Frexp(p.weights[i])
			for at, w := range weights {
				if w != 0 {
					_, exponent := math.Frexp(w)
					_, ofColumn := math.Frexp(p.weights[neighbors[at]])
					largest = max(largest, exponent+ofRow+ofColumn)
				}
			}
		}
	}
	if largest > math.MinInt && max(largest, -largest) > maxExponent {
		// even, because each of the two rows contributes half of it
		p.unit = min(-(largest + largest&1), maxUnitExponent)
	}
}

// scale returns the factors of the rows of the matrix: the weights of kernel k-means, times the unit of a graph.
func (p *Problem) scale() []float64 {
	if p.unit == 0 {
		return p.weights
	}
	scale := make([]float64, p.n)
	for i := range scale {
		scale[i] = 1
		if p.weights != nil {
			scale[i] = p.weights[i]
		}
		scale[i] = math.Ldexp(scale[i], p.unit/2)
	}
	return scale
}

// ToUnit converts a weight of the graph to the unit of the matrix.
func (p *Problem) ToUnit(v float64) float64 { return math.Ldexp(v, p.unit) }

// FromUnit converts a value in the unit of the matrix, such as a sum of its entries, to that of the graph.
func (p *Problem) FromUnit(v float64) float64 { return math.Ldexp(v, -p.unit) }

// EdgeWeight returns the entry of the matrix for an edge of this weight.
func (p *Problem) EdgeWeight(w float64) float64 { return p.Matrix.Grid.Round(p.ToUnit(w)) }

// inUnit converts the weights of constraints to the unit of the matrix.
func (p *Problem) inUnit(constraints []constraint.Constraint) []constraint.Constraint {
	if p.unit == 0 {
		return constraints
	}
	// beyond them a constraint decides alone, or does not count
	const largest, least = clustering.MaxWeight / 1e10, 1e-300
	converted := make([]constraint.Constraint, len(constraints))
	for i, c := range constraints {
		if c.Weighted && c.Weight > 0 {
			c.Weight = min(max(p.ToUnit(c.Weight), least), largest)
		}
		converted[i] = c
	}
	return converted
}
