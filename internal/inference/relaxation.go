package inference

import (
	"math"
	"slices"
)

// relaxation is the linear program of Bilenko2004 (8)-(15) over the shares y_il of points in labels, after the
// elimination of redundant variables and constraints:
//
//	min  sum cost_v y_v + sum over must-links   w sum_l (y_il - y_jl)+
//	                    + sum over cannot-links w sum_l (y_il + y_jl - 1)+
//	s.t. sum_l y_il = 1, y >= 0
//
// The violations z of (12)-(15) are the positive parts (.)+: at an optimum z has its least value, so that (14) is never
// active. Since the shares of both points have the sum 1, half the sum of |y_il - y_jl| in (11) is the sum of the
// positive parts: one inequality instead of two. Labels that are ruled out for a point have no variable.
//
// The only constraints of the dual are bounds, so that any multipliers within them give a certified lower bound:
//
//	max  sum_i min_l (cost_il + sum over terms +-multiplier) - sum over cannot-link terms of multiplier
//	s.t. 0 <= multiplier <= w
type relaxation struct {
	first    []int32   // the variables of point i are first[i] .. first[i+1]-1
	label    []int32   // of each variable
	cost     []float64 // of each variable, in units of scale; the least of each point is 0
	terms    []term
	edges    []termsOfEdge
	scale    float64 // the mean over points of their largest cost
	constant float64 // in the original units
}

// term is one positive part: of y_a - y_b for a must-link, of y_a + y_b - 1 for a cannot-link.
type term struct {
	a, b   int32
	sign   float64 // of y_b: -1 for a must-link, +1 for a cannot-link
	weight float64 // in units of scale
}

// termsOfEdge records which terms come from the pair i, j. Their a is a variable of i, their b one of j.
type termsOfEdge struct {
	i, j        int32
	from, until int
}

// relax returns the linear program of a graph. Labels of infinite cost have no variable.
func relax(g *graph) *relaxation {
	x := &relaxation{first: make([]int32, 1, g.size()+1)}
	variable := make([]int32, len(g.unary))
	for at, cost := range g.unary {
		variable[at] = -1
		if !math.IsInf(cost, 1) {
			variable[at] = int32(len(x.cost))
			x.cost = append(x.cost, cost)
			x.label = append(x.label, int32(at%g.k))
		}
		if (at+1)%g.k == 0 {
			x.first = append(x.first, int32(len(x.cost)))
		}
	}
	for i := range g.size() {
		for e := g.start[i]; e < g.start[i+1]; e++ {
			if j := g.to[e]; int(j) > i {
				from := len(x.terms)
				x.addEdge(variable[i*g.k:(i+1)*g.k], variable[int(j)*g.k:], g.weight[e])
				x.edges = append(x.edges, termsOfEdge{int32(i), j, from, len(x.terms)})
			}
		}
	}
	x.normalize()
	return x
}

// addEdge adds the terms of one pair. If a label is possible only at one end, its positive part is linear, y_il, for a
// must-link, and 0 for a cannot-link.
func (x *relaxation) addEdge(from, to []int32, weight float64) {
	sign := -1.0
	if weight < 0 {
		sign = 1
	}
	for label, a := range from {
		switch b := to[label]; {
		case a >= 0 && b >= 0:
			x.terms = append(x.terms, term{a, b, sign, math.Abs(weight)})
		case a >= 0 && weight > 0:
			x.cost[a] += weight
		}
	}
}

// normalize subtracts the unavoidable costs, and scales the rest by the mean over points of the largest cost. Weights
// do not matter for the scale: equal shares violate nothing, so that the optimum is of the size of the costs, however
// large the weights are.
func (x *relaxation) normalize() {
	for i := range x.points() {
		costs := x.cost[x.first[i]:x.first[i+1]]
		least := costs[cheapest(costs, -1)]
		x.constant += least
		for v := range costs {
			costs[v] -= least
		}
		x.scale += slices.Max(costs) / float64(x.points())
	}
	if x.scale == 0 { // all costs are 0, so any unit is fine
		x.scale = 1
	}
	for v := range x.cost {
		x.cost[v] /= x.scale
	}
	for at := range x.terms {
		x.terms[at].weight /= x.scale
	}
}

func (x *relaxation) points() int { return len(x.first) - 1 }

// part returns the expression of which a term is the positive part.
func (t *term) part(y []float64) float64 {
	if t.sign < 0 {
		return y[t.a] - y[t.b]
	}
	return (y[t.a] - 0.5) + (y[t.b] - 0.5) // both differences are exact near the kink
}

// value returns the objective for shares y, in units of scale and without the constant.
func (x *relaxation) value(y []float64) float64 {
	total := 0.0
	for v, cost := range x.cost {
		total += float64(cost * y[v])
	}
	for i := range x.terms {
		t := &x.terms[i]
		total += float64(t.weight * max(0, t.part(y)))
	}
	return total
}

// reducedCosts computes the costs with the multipliers added: cost + A' multiplier.
func (x *relaxation) reducedCosts(multiplier, reduced []float64) {
	copy(reduced, x.cost)
	for i := range x.terms {
		t := &x.terms[i]
		reduced[t.a] += multiplier[i]
		reduced[t.b] += float64(t.sign * multiplier[i])
	}
}

// bound returns the dual objective: a lower bound of value, for any multipliers within their bounds.
func (x *relaxation) bound(multiplier, reduced []float64) float64 {
	total := 0.0
	for i := range x.points() {
		costs := reduced[x.first[i]:x.first[i+1]]
		total += costs[cheapest(costs, -1)]
	}
	for at := range x.terms {
		if x.terms[at].sign > 0 {
			total -= multiplier[at]
		}
	}
	return total
}
