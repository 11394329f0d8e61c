package inference

import (
	"context"
	"math"
	"slices"
)

// ascent climbs the dual of the relaxation by sequential tree-reweighted messages (Kolmogorov 2006):
// far cheaper than solving it, and its bound never falls. Where the labels that it decodes cost no more
// than the bound, they and the relaxation are solved; elsewhere it may stop below the optimum. The
// energy is cut into chains that ascend in the points' numbers, each point's costs in equal shares for
// the chains through it; messages move costs between the chains, and the bound is the sum of their
// least energies.
type ascent struct {
	*beliefs
	share         []float64 // of each point's costs that each chain through it has
	lower, higher []int     // neighbors of each point
	bound         float64   // with the constant
	labels        []int32   // the best seen
	energy        float64
	rounds        int
	rounding, gap float64
}

const (
	maxRounds       = 1000
	roundsPerDecode = 5     // labels are decoded once in so many rounds,
	roundsPerCheck  = 20    // and the gain is judged once in so many:
	minGain         = 0.003 // of the gap that is left is too slow to go on
)

// climb ascends until the bound meets the energy of the best labels, to rounding or to a relative gap,
// or hardly rises.
func ascend(ctx context.Context, g *graph, prefer []int32, gap float64) (*ascent, error) {
	n := g.size()
	a := &ascent{beliefs: newBeliefs(g), share: make([]float64, n), lower: make([]int, n), higher: make([]int, n),
		bound: math.Inf(-1), energy: math.Inf(1), rounding: g.rounding(), gap: gap}
	for i := range n {
		a.lower[i], _ = slices.BinarySearch(g.to[g.start[i]:g.start[i+1]], int32(i))
		a.higher[i] = g.start[i+1] - g.start[i] - a.lower[i]
		a.share[i] = 1 / float64(max(a.lower[i], a.higher[i], 1))
	}
	judged := a.bound
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
			if a.bound-judged < minGain*(a.energy-a.bound) {
				break
			}
			judged = a.bound
		}
	}
	return a, nil
}

// solved tells whether the labels are proved optimal.
func (a *ascent) solved() bool {
	return a.energy-a.bound <= a.rounding+float64(a.gap*math.Abs(a.energy))
}

// pass renews all messages that go up (or down) and returns the bound: what the messages gave up,
// and the least of each point's share for every chain that ends there.
func (a *ascent) pass(upwards bool) float64 {
	n := int32(a.g.size())
	bound := a.g.constant
	for at := range n {
		i, onward := at, a.higher[at]
		if !upwards {
			i = n - 1 - at
			onward = a.lower[i]
		}
		_, taken := a.send(i, upwards, a.share[i], 0)
		bound += taken
		if ending := max(a.lower[i], a.higher[i], 1) - onward; ending > 0 {
			bound += float64(float64(ending) * a.share[i] * slices.Min(a.belief))
		}
	}
	return bound
}

// tightened is the energy rewritten by the messages, to the same total for every labeling: the bound,
// plus costs of points and edges of which none is below 0. Each edge takes its chain's share of the
// lower point's costs.
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
	t := &tightened{g: a.g, reverse: a.reverse, point: make([]float64, len(a.g.unary)), edge: make([]float64, len(a.message))}
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
			heard, told := a.messageAt(e), t.edge[e*k:(e+1)*k]
			if a.g.to[e] < i {
				for label, m := range heard {
					told[label] = -m
				}
				continue
			}
			for label, m := range heard {
				told[label] = float64(a.share[i]*belief[label]) - m
			}
			a.settleEdge(told, a.messageAt(a.reverse[e]), a.g.weight[e])
		}
	}
	return t
}

// settleEdge lowers an edge's costs for its lower point so that its cheapest pair of labels costs 0.
func (b *beliefs) settleEdge(told, message []float64, weight float64) {
	base, least := minSum(told, weight, b.newMessage), math.Inf(1)
	for label, m := range message {
		least = min(least, b.newMessage[label]-m)
	}
	for label := range told {
		told[label] -= base + least
	}
}
