package inference

import (
	"context"
	"math"
	"slices"
)

// ascent maximizes the dual of the relaxation by sequential tree-reweighted message passing (Kolmogorov 2006). That
// is far cheaper than solving the relaxation, and its bound never falls, but it may stop below the optimum. If the
// labels that it decodes cost no more than the bound, both the labels and the relaxation are solved.
//
// The energy is cut into chains of ascending points, and each point's costs are divided equally among the chains
// through it. Messages move costs between the chains; the bound is the sum of the chains' least energies.
type ascent struct {
	*beliefs
	share         []float64 // per point: the part of its costs that each chain through it gets
	lower, higher []int     // per point: how many neighbors have lower and higher numbers
	bound         float64   // includes the constant
	labels        []int32   // the best so far
	energy        float64
	rounds        int
	rounding, gap float64
}

const (
	maxRounds       = 1000
	roundsPerDecode = 5     // labels are decoded once in this many rounds
	roundsPerCheck  = 20    // progress is checked once in this many rounds
	minGain         = 0.003 // part of the remaining gap that must be closed between two checks to go on
)

// ascend runs until the bound meets the energy of the best labels, up to rounding or a relative gap, or hardly rises.
// Preferred labels win ties.
func ascend(ctx context.Context, g *graph, prefer []int32, gap float64) (*ascent, error) {
	n := g.size()
	a := &ascent{beliefs: newBeliefs(g), share: make([]float64, n), lower: make([]int, n), higher: make([]int, n),
		bound: math.Inf(-1), energy: math.Inf(1), rounding: g.rounding(), gap: gap}
	for i := range n {
		a.lower[i], _ = slices.BinarySearch(g.to[g.start[i]:g.start[i+1]], int32(i))
		a.higher[i] = g.start[i+1] - g.start[i] - a.lower[i]
		a.share[i] = 1 / float64(max(a.lower[i], a.higher[i], 1))
	}
	boundAtLastCheck := a.bound
	for a.rounds == 0 || !a.solved() && a.rounds < maxRounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.rounds++
		a.pass(false)
		a.bound = max(a.bound, a.pass(true))
		if a.rounds%roundsPerDecode == 1 {
			labels := a.decode(prefer)
			if energy := g.energy(labels); energy < a.energy {
				a.labels, a.energy = labels, energy
			}
		}
		if a.rounds%roundsPerCheck == 0 {
			if a.bound-boundAtLastCheck < minGain*(a.energy-a.bound) {
				break
			}
			boundAtLastCheck = a.bound
		}
	}
	return a, nil
}

// solved reports whether the labels are proven optimal, up to the gap.
func (a *ascent) solved() bool {
	return a.energy-a.bound <= a.rounding+float64(a.gap*math.Abs(a.energy))
}

// pass updates all messages to higher points, or to lower ones, and returns the bound: the sum of the amounts by which
// messages were normalized, plus for every chain the least of its share of the costs at the point where it ends.
func (a *ascent) pass(upward bool) float64 {
	n := int32(a.g.size())
	bound := a.g.constant
	for at := range n {
		i, onward := at, a.higher[at]
		if !upward {
			i = n - 1 - at
			onward = a.lower[i]
		}
		_, taken := a.send(i, upward, a.share[i], 0)
		bound += taken
		if ending := max(a.lower[i], a.higher[i], 1) - onward; ending > 0 {
			bound += float64(float64(ending) * a.share[i] * slices.Min(a.belief))
		}
	}
	return bound
}

// tightened is the energy rewritten by the messages, with the same total for every labeling: the bound, plus costs of
// points and edges that are not negative. Each edge gets its chain's share of the lower point's costs.
type tightened struct {
	g       *graph
	bound   float64
	point   []float64 // points x k
	edge    []float64 // edges x k: what the edge adds for the label of its own point, besides the penalty
	reverse []int     // the same edge in the other point's list
}

// tighten rewrites the energy after one more upward pass.
func (a *ascent) tighten() *tightened {
	k := a.g.k
	t := &tightened{g: a.g, reverse: a.reverse, point: make([]float64, len(a.g.unary)),
		edge: make([]float64, len(a.message))}
	t.bound = a.pass(true)
	for i := range int32(a.g.size()) {
		belief := a.gather(i)
		least := slices.Min(belief)
		kept := float64(max(a.lower[i], a.higher[i], 1)-a.higher[i]) * a.share[i]
		for label, cost := range belief {
			if t.point[int(i)*k+label] = cost; !math.IsInf(cost, 1) {
				t.point[int(i)*k+label] = float64(kept * (cost - least))
			}
		}
		for e := a.g.start[i]; e < a.g.start[i+1]; e++ {
			incoming := a.messageAt(e)
			edgeCosts := t.edge[e*k : (e+1)*k]
			if a.g.to[e] < i {
				for label, m := range incoming {
					edgeCosts[label] = -m
				}
				continue
			}
			for label, m := range incoming {
				edgeCosts[label] = float64(a.share[i]*belief[label]) - m
			}
			a.settleEdge(edgeCosts, a.messageAt(a.reverse[e]), a.g.weight[e])
		}
	}
	return t
}

// settleEdge lowers an edge's costs at its lower point so that its cheapest pair of labels costs 0.
func (b *beliefs) settleEdge(edgeCosts, message []float64, weight float64) {
	base := minSum(edgeCosts, weight, b.newMessage)
	least := math.Inf(1)
	for label, m := range message {
		least = min(least, b.newMessage[label]-m)
	}
	for label := range edgeCosts {
		edgeCosts[label] -= base + least
	}
}
