package inference

import (
	"math"

	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// icm runs Iterated Conditional Modes (Bilenko2004 3.2). Each pass visits the points in a new random order, and each
// point takes the label that is cheapest given the others, until a pass changes nothing. A point moves only if that
// lowers the energy by more than the rounding error of its own sum, so that ties stay and the passes end.
//
// A point without a label (-1) takes the cheapest one at its first visit. Neighbors without labels do not count. The
// labels are changed in place; the result is the number of passes.
func (s *solver) icm(g *graph, labels []int32) (int, error) {
	s.order = s.order[:0]
	s.cost = append(s.cost[:0], make([]float64, g.k)...)
	for i := range int32(g.size()) {
		s.order = append(s.order, i)
	}
	order := s.order
	for pass := 1; ; pass++ {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		s.rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		changed := false
		for _, i := range order {
			changed = g.improve(i, labels, s.cost) || changed
		}
		if !changed {
			return pass, nil
		}
	}
}

// improve moves one point to its cheapest label (Bilenko2004 (7)), and reports whether it moved. Up to a constant, a
// must-link makes its neighbor's label cheaper by its weight, and a cannot-link more expensive, so that with signed
// weights one subtraction serves both.
func (g *graph) improve(i int32, labels []int32, cost []float64) bool {
	row := g.row(i)
	copy(cost, row)
	magnitude := 0.0
	for e := g.start[i]; e < g.start[i+1]; e++ {
		if label := labels[g.to[e]]; label >= 0 {
			cost[label] -= g.weight[e]
		}
		magnitude += math.Abs(g.weight[e])
	}
	now := labels[i]
	best := cheapest(cost, now)
	if best == now {
		return false
	}
	if now >= 0 {
		magnitude += math.Abs(row[now]) + math.Abs(row[best])
		terms := float64(g.start[i+1] - g.start[i] + 2)
		if cost[now]-cost[best] <= 0x1p-50*terms*magnitude {
			return false
		}
	}
	labels[i] = best
	return true
}

// cheapest returns the label of least cost. Of equally cheap labels it returns the preferred one, or else the lowest;
// preferred may be -1.
func cheapest(cost []float64, preferred int32) int32 {
	best := int32(choose.Smallest(cost))
	if preferred >= 0 && cost[preferred] == cost[best] {
		return preferred
	}
	return best
}
