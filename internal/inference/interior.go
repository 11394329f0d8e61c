package inference

import (
	"context"
	"math"
)

// interior is a primal-dual interior-point method (Mehrotra 1992) for the relaxation. A term's part of the shares is
// its excess minus its deficit, neither of which is negative, and its multiplier is between 0 and the term's weight.
// The room is the weight minus the multiplier. The optimum has
//
//	share reduced = 0,   excess room = 0,   deficit multiplier = 0,
//
// and the method follows the path on which these products are equal and fall to 0. Each Newton step eliminates all
// unknowns but the shares. Their matrix is sparse: a diagonal plus a rank-one matrix per term. The largest share of
// each point is the dependent variable: 1 minus the others. That keeps the shares of a point at a total of 1, and
// leaves a positive definite matrix with a block per point.
type interior struct {
	x      *relaxation
	factor *blockCholesky
	places []blockPlace // where the blocks of x.edges are

	share, slack     []float64 // per variable: its share, and the slack that its reduced cost tends to
	excess, deficit  []float64 // per term: how far its part is above 0, and below
	multiplier, room []float64 // per term: its multiplier, and how far that is below the term's weight
	reduced          []float64 // cost + A' multiplier
	curvature        []float64 // per term: 1 / (excess/room + deficit/multiplier)
	pull             []float64 // per term, scratch of newtonDirection
	dependent        []int32   // per point: the variable with the largest share
	rightSide        []float64 // of the equations for the shares that are not dependent
	offset           []int32   // per point: where its values begin in rightSide
}

// blockPlace is where the block of an edge is in the factor: entry (a, b) is at a*stride+b, or at b*stride+a if
// transposed.
type blockPlace struct {
	entry      []float64
	stride     int
	transposed bool
}

const (
	relativeGap      = 1e-10 // the path ends at this gap
	enoughGap        = 1e-7  // this gap is accepted if there is no more progress
	idleSteps        = 5     // there is no more progress if this many steps do not halve the gap
	lostSteps        = 30    // the same before enoughGap is reached, because progress may be slow for a while
	maxSteps         = 100
	boundaryFraction = 0.99
	startProduct     = 0.3 // the value of all products at the start, in units of scale
)

// solution is the optimum of a relaxation, in units of its scale.
type solution struct {
	share        []float64
	value, bound float64 // upper and lower bounds of the optimum
	steps        int
}

// newInterior returns the start of the path: strictly positive variables whose products are at least startProduct.
func newInterior(x *relaxation, e *elimination, width []int32) *interior {
	variables, terms := len(x.cost), len(x.terms)
	p := &interior{
		x:          x,
		factor:     newBlockCholesky(e, width),
		share:      make([]float64, variables),
		slack:      make([]float64, variables),
		excess:     make([]float64, terms),
		deficit:    make([]float64, terms),
		multiplier: make([]float64, terms),
		room:       make([]float64, terms),
		reduced:    make([]float64, variables),
		curvature:  make([]float64, terms),
		pull:       make([]float64, terms),
		dependent:  make([]int32, x.points()),
		rightSide:  make([]float64, variables-x.points()),
		offset:     make([]int32, x.points()),
	}
	for _, e := range x.edges {
		entry, stride, transposed := p.factor.block(e.i, e.j)
		p.places = append(p.places, blockPlace{entry, stride, transposed})
	}
	for i := range p.offset {
		p.offset[i] = x.first[i] - int32(i)
	}
	p.start()
	return p
}

// start chooses a central point: equal shares, multipliers in the middle of their range but no larger than the
// costs, and about equal products. For a term that equal shares violate, and that weighs more than all else, excess
// minus deficit is not its part yet, because its product would be far above the others. The first steps correct that.
func (p *interior) start() {
	for at := range p.x.terms {
		weight := p.x.terms[at].weight
		p.multiplier[at] = min(weight, 1) / 2
		p.room[at] = weight - p.multiplier[at]
	}
	p.x.reducedCosts(p.multiplier, p.reduced)
	for i := range p.x.points() {
		from, until := p.x.first[i], p.x.first[i+1]
		share := 1 / float64(until-from)
		costs := p.reduced[from:until]
		least := costs[cheapest(costs, -1)]
		for v := from; v < until; v++ {
			p.share[v] = share
			p.slack[v] = p.reduced[v] - least + startProduct/share
		}
	}
	for at := range p.x.terms {
		part := p.x.terms[at].part(p.share)
		p.excess[at] = startProduct/p.room[at] + max(part, 0)/max(p.x.terms[at].weight, 1)
		p.deficit[at] = max(p.excess[at]-part, startProduct/p.multiplier[at])
	}
}

// run follows the path until value and bound meet, or there is no more progress. The work is counted in
// multiplications, and never exceeds its limit.
func (p *interior) run(ctx context.Context, workPerStep, workLimit float64) (solution, error) {
	best := solution{value: math.Inf(1), bound: math.Inf(-1), share: make([]float64, len(p.share))}
	reached := math.Inf(1)
	idle := 0
	still := p.newDirection()
	affine := p.newDirection()
	centered := p.newDirection()
	for {
		p.x.reducedCosts(p.multiplier, p.reduced)
		if bound := p.x.bound(p.multiplier, p.reduced); bound > best.bound {
			best.bound = bound
		}
		if value := p.x.value(p.share); value < best.value {
			best.value = value
			copy(best.share, p.share)
		}
		if gap := best.gap(); gap < reached/2 {
			reached, idle = gap, 0
		} else if idle++; idle > lostSteps || idle > idleSteps && gap <= enoughGap {
			return best, nil
		}
		if reached <= relativeGap || best.steps == maxSteps || float64(best.steps+1)*workPerStep > workLimit {
			return best, nil
		}
		best.steps++
		p.assemble()
		if err := p.factor.factor(ctx); err != nil {
			return solution{}, err
		}
		product := p.productAfter(still, 0, 0)
		p.newtonDirection(0, still, affine)
		primal, dual := p.maxStep(affine)
		ratio := p.productAfter(affine, primal, dual) / product
		p.newtonDirection(ratio*ratio*ratio*product, affine, centered)
		primal, dual = p.maxStep(centered)
		if !(max(primal, dual) > 1e-9) {
			return best, nil
		}
		p.move(centered, min(1, boundaryFraction*primal), min(1, boundaryFraction*dual))
	}
}

// gap returns the relative distance of value and bound.
func (s *solution) gap() float64 { return (s.value - s.bound) / s.magnitude() }

// magnitude returns the value, or a thousandth of a point's typical cost if that is larger.
func (s *solution) magnitude() float64 { return max(1e-3, math.Abs(s.value)) }

// productAfter returns the mean of all products, which is 0 at the optimum, after a step in a direction.
func (p *interior) productAfter(d *direction, primal, dual float64) float64 {
	total := 0.0
	for v := range p.share {
		total += float64((p.share[v] + float64(primal*d.share[v])) * (p.slack[v] + float64(dual*d.slack[v])))
	}
	for t := range p.excess {
		total += float64((p.excess[t] + float64(primal*d.excess[t])) * (p.room[t] - float64(dual*d.multiplier[t])))
		total += float64((p.deficit[t] + float64(primal*d.deficit[t])) *
			(p.multiplier[t] + float64(dual*d.multiplier[t])))
	}
	return total / float64(len(p.share)+2*len(p.excess))
}

// maxStep returns the longest steps, up to 1, that keep the primal and the dual quantities from becoming negative.
func (p *interior) maxStep(d *direction) (primal, dual float64) {
	primal, dual = 1, 1
	for v := range p.share {
		primal = min(primal, stepToZero(p.share[v], d.share[v]))
		dual = min(dual, stepToZero(p.slack[v], d.slack[v]))
	}
	for t := range p.excess {
		primal = min(primal, stepToZero(p.excess[t], d.excess[t]), stepToZero(p.deficit[t], d.deficit[t]))
		dual = min(dual, stepToZero(p.multiplier[t], d.multiplier[t]), stepToZero(p.room[t], -d.multiplier[t]))
	}
	return primal, dual
}

func stepToZero(value, step float64) float64 {
	if step < 0 {
		return -value / step
	}
	return 1
}

// move takes a step. It caps multipliers at the weights of their terms, because the bound is valid only within their
// range.
func (p *interior) move(d *direction, primal, dual float64) {
	for v := range p.share {
		p.share[v] += float64(primal * d.share[v])
		p.slack[v] += float64(dual * d.slack[v])
	}
	for t := range p.excess {
		p.excess[t] += float64(primal * d.excess[t])
		p.deficit[t] += float64(primal * d.deficit[t])
		p.multiplier[t] = min(p.multiplier[t]+float64(dual*d.multiplier[t]), p.x.terms[t].weight)
		p.room[t] -= float64(dual * d.multiplier[t])
	}
}
