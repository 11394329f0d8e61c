package inference

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// search is a depth-first branch and bound. It works on the energy as tightened by an ascent, where no cost is
// negative. The bound of a partial labeling is its cost plus, for each point without a label, its cheapest label
// given the labeled neighbors; edges between two points without labels count 0.
type search struct {
	*tightened
	order   []int32 // the points in the order in which they are labeled
	place   []int32 // per point: its place in order
	cost    []float64
	least   []float64 // per point: the least of its costs
	labels  []int32
	choice  []int32 // depth x k: the labels of a point, sorted by cost
	levels  []level
	undo    []int32   // points whose costs were changed, in order
	undoRow []float64 // what their costs were before: k costs and the least

	best       float64
	bestLabels []int32
	margin     float64 // a labeling must be better by more than this
}

// level is one point whose labels are being tried.
type level struct {
	next  int     // the next choice to try
	bound float64 // the bound before this point has a label
	undo  int     // the length of search.undo to return to before the next label is tried
}

const nodesBetweenChecks = 1 << 12

// branchAndBound improves labels to the least energy, in place. It returns false if it gave up at the limit of nodes;
// the labels are then the best that it has seen.
func branchAndBound(ctx context.Context, t *tightened, labels []int32, limit int) (bool, error) {
	g, n := t.g, t.g.size()
	s := &search{tightened: t, order: searchOrder(g), place: make([]int32, n), cost: t.point,
		least: make([]float64, n), labels: make([]int32, n), choice: make([]int32, n*g.k),
		levels: make([]level, 0, n), best: g.energy(labels), bestLabels: labels, margin: g.rounding()}
	bound := t.bound
	for at, i := range s.order {
		s.place[i] = int32(at)
		s.least[i] = slices.Min(s.row(i))
		bound += s.least[i]
	}
	s.open(bound)
	for visited := 1; len(s.levels) > 0; visited++ {
		if visited > limit {
			return false, nil
		}
		if visited%nodesBetweenChecks == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		s.step()
	}
	return true, nil
}

func (s *search) row(i int32) []float64 { return s.cost[int(i)*s.g.k : (int(i)+1)*s.g.k] }

// searchOrder starts with the point with the most weight on its edges, and continues with the one that has the most
// weight to those before it, so that the constraints affect the bound early.
func searchOrder(g *graph) []int32 {
	n := g.size()
	// tied is the weight of a point's edges to points in the order, plus 1e-6 of all its weights, which decides which
	// point is first.
	tied := make([]float64, n)
	var open pointQueue
	for i := range n {
		for _, w := range g.weight[g.start[i]:g.start[i+1]] {
			tied[i] += float64(1e-6 * math.Abs(w))
		}
		open.add(-tied[i], int32(i))
	}
	order := make([]int32, 0, n)
	taken := make([]bool, n)
	for len(order) < n {
		i := open.take().point
		if taken[i] {
			continue
		}
		taken[i] = true
		order = append(order, i)
		for e := g.start[i]; e < g.start[i+1]; e++ {
			j := g.to[e]
			tied[j] += math.Abs(g.weight[e])
			open.add(-tied[j], j)
		}
	}
	return order
}

// open starts to try the labels of the next point, the cheapest first.
func (s *search) open(bound float64) {
	depth := len(s.levels)
	row := s.row(s.order[depth])
	choice := s.choice[depth*s.g.k : (depth+1)*s.g.k]
	for label := range choice {
		choice[label] = int32(label)
	}
	slices.SortFunc(choice, func(a, b int32) int { return cmp.Or(cmp.Compare(row[a], row[b]), cmp.Compare(a, b)) })
	s.levels = append(s.levels, level{bound: bound, undo: len(s.undo)})
}

// step tries the next label of the deepest point, or goes back up if none can be better.
func (s *search) step() {
	depth := len(s.levels) - 1
	l := &s.levels[depth]
	s.undoTo(l.undo)
	if l.next == s.g.k {
		s.levels = s.levels[:depth]
		return
	}
	i, label := s.order[depth], s.choice[depth*s.g.k+l.next]
	bound := l.bound - s.least[i] + s.row(i)[label]
	if !(bound < s.best-s.margin) { // the remaining labels cost even more
		s.levels = s.levels[:depth]
		return
	}
	l.next++
	s.labels[i] = label
	bound = s.push(i, label, bound)
	switch {
	case !(bound < s.best-s.margin):
	case depth+1 == len(s.order):
		if energy := s.g.energy(s.labels); energy < s.best {
			s.best = energy
			copy(s.bestLabels, s.labels)
		}
	default:
		s.open(bound)
	}
}

// push adds the edge costs of a point's label to its neighbors without labels, and returns the bound with their new
// least costs.
func (s *search) push(i, label int32, bound float64) float64 {
	k := s.g.k
	for e := s.g.start[i]; e < s.g.start[i+1]; e++ {
		j := s.g.to[e]
		if s.place[j] < s.place[i] {
			continue
		}
		row := s.row(j)
		r := s.reverse[e]
		s.undo = append(s.undo, j)
		s.undoRow = append(append(s.undoRow, row...), s.least[j])
		for other, edgeCost := range s.edge[r*k : (r+1)*k] {
			row[other] += max(0, (s.edge[e*k+int(label)]+edgeCost)+penalty(s.g.weight[e], label, int32(other)))
		}
		least := slices.Min(row)
		bound += least - s.least[j]
		s.least[j] = least
	}
	return bound
}

func (s *search) undoTo(to int) {
	k := s.g.k
	for at := len(s.undo) - 1; at >= to; at-- {
		j, was := s.undo[at], s.undoRow[at*(k+1):]
		copy(s.row(j), was[:k])
		s.least[j] = was[k]
	}
	s.undo, s.undoRow = s.undo[:to], s.undoRow[:to*(k+1)]
}
