package inference

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// search is depth-first branch and bound. The bound of a partial labelling is what it costs plus, for
// each open point, its cheapest label given the labelled neighbours: constraints among open points
// count nothing, as none costs less.
type search struct {
	g      *graph
	order  []int32 // points in the order in which they are labelled
	place  []int32 // of each point in it
	cost   []float64
	least  []float64 // of each point's costs
	labels []int32
	choice []int32 // depth x k: a point's labels by cost
	levels []level
	undo   []change

	best       float64
	bestLabels []int32
	margin     float64 // what a labelling must be better by
}

// level is one point being tried.
type level struct {
	next  int     // the next choice
	base  float64 // what the labelled points cost before this one
	bound float64 // and with the least of all open points, this one among them
	undo  int     // changes from here on are undone when the next label is tried
}

// change is an entry of cost, and its point's least, as they were.
type change struct {
	at          int
	cost, least float64
	point       int32
}

const nodesBetweenChecks = 1 << 14

// branchAndBound improves labels to the least energy, in place; false when it gave up at the limit
// of nodes, and then the labels are the best seen.
func branchAndBound(ctx context.Context, g *graph, labels []int32, limit int) (bool, error) {
	n := g.size()
	s := &search{g: g, order: searchOrder(g), place: make([]int32, n), cost: slices.Clone(g.unary),
		least: make([]float64, n), labels: make([]int32, n), choice: make([]int32, n*g.k),
		levels: make([]level, 0, n), best: g.energy(labels) - g.constant, bestLabels: labels, margin: g.rounding()}
	bound := 0.0
	for at, i := range s.order {
		s.place[i] = int32(at)
		s.least[i] = slices.Min(g.row(i))
	}
	for _, least := range s.least {
		bound += least
	}
	s.open(0, bound)
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

// searchOrder starts at the point with the most weight on its edges and goes on with the one that is
// bound the most to those before it, so that the bound feels the constraints early.
func searchOrder(g *graph) []int32 {
	n := g.size()
	bound := make([]float64, n) // the weight to points in the order; to all, a little, for the first
	var open pointQueue
	for i := range n {
		for _, w := range g.weight[g.start[i]:g.start[i+1]] {
			bound[i] += float64(1e-6 * math.Abs(w))
		}
		open.add(-bound[i], int32(i))
	}
	order, taken := make([]int32, 0, n), make([]bool, n)
	for len(order) < n {
		i := open.take().point
		if taken[i] {
			continue
		}
		taken[i] = true
		order = append(order, i)
		for e := g.start[i]; e < g.start[i+1]; e++ {
			j := g.to[e]
			bound[j] += math.Abs(g.weight[e])
			open.add(-bound[j], j)
		}
	}
	return order
}

// open starts trying the labels of the next point, the cheapest first.
func (s *search) open(base, bound float64) {
	depth := len(s.levels)
	i := s.order[depth]
	row := s.cost[int(i)*s.g.k : (int(i)+1)*s.g.k]
	choice := s.choice[depth*s.g.k : (depth+1)*s.g.k]
	for label := range choice {
		choice[label] = int32(label)
	}
	slices.SortFunc(choice, func(a, b int32) int { return cmp.Or(cmp.Compare(row[a], row[b]), cmp.Compare(a, b)) })
	s.levels = append(s.levels, level{base: base, bound: bound, undo: len(s.undo)})
}

// step tries the next label of the deepest point, or goes back up when none can be better.
func (s *search) step() {
	depth := len(s.levels) - 1
	l := &s.levels[depth]
	s.takeBack(l.undo)
	i := s.order[depth]
	if l.next == s.g.k {
		s.levels = s.levels[:depth]
		return
	}
	label := s.choice[depth*s.g.k+l.next]
	cost := s.cost[int(i)*s.g.k+int(label)]
	bound := l.bound - s.least[i] + cost
	if !(bound < s.best-s.margin) { // nor can the dearer labels after it
		s.levels = s.levels[:depth]
		return
	}
	l.next++
	s.labels[i] = label
	base, bound := s.push(i, label, l.base+cost, bound)
	switch {
	case !(bound < s.best-s.margin):
	case depth+1 == len(s.order):
		s.best = base
		copy(s.bestLabels, s.labels)
	default:
		s.open(base, bound)
	}
}

// push tells the open neighbours of a point its label: signed weights, as in ICM.
func (s *search) push(i, label int32, base, bound float64) (float64, float64) {
	for e := s.g.start[i]; e < s.g.start[i+1]; e++ {
		j, w := s.g.to[e], s.g.weight[e]
		if s.place[j] < s.place[i] {
			continue
		}
		row := s.cost[int(j)*s.g.k : (int(j)+1)*s.g.k]
		s.undo = append(s.undo, change{int(j)*s.g.k + int(label), row[label], s.least[j], j})
		row[label] -= w
		least := slices.Min(row)
		bound += least - s.least[j]
		s.least[j] = least
		if w > 0 {
			base += w
			bound += w
		}
	}
	return base, bound
}

func (s *search) takeBack(to int) {
	for at := len(s.undo) - 1; at >= to; at-- {
		c := s.undo[at]
		s.cost[c.at], s.least[c.point] = c.cost, c.least
	}
	s.undo = s.undo[:to]
}
