package inference

import "math"

// reduction makes a graph smaller without changing its least energy, nor the optimum of its linear
// relaxation, until nothing more can be done:
//
//   - A label is ruled out when another is cheaper whatever the neighbors do (dead-end elimination).
//     Moving a share of a point from label a to label b changes a must-link by at most its weight,
//     and only if the neighbor can have a; a cannot-link only if the neighbor can have b. This
//     holds for fractions as for whole points.
//   - A point with one label left is folded into the costs of its neighbors.
//   - A leaf sends its min-sum message to its only neighbor and remembers its answer to each of the
//     neighbor's labels. For a fixed marginal of the neighbor the relaxation of an edge is this same
//     message, linear in the marginal, so the relaxation of a tree is integral.
//
// On a tree this is the exact two-pass max-product: leaves inwards, then back by the pointers.
type reduction struct {
	g        *graph
	prefer   []int32   // labels to keep among equals
	cost     []float64 // points x k; +Inf for labels that are ruled out
	must     []float64 // points x k: the weight of must-links to neighbors that can have the label
	cannot   []float64 // points x k: the same for cannot-links
	degree   []int32   // neighbors left
	gone     []bool
	queue    []int32 // points to look at again, first in first out
	queued   []bool
	trail    []removal // in the order in which points went
	answers  []int32   // of the leaves, k each
	constant float64   // the energy that has been settled
}

// removal says how a point gets its label once those that went after it have theirs.
type removal struct {
	point, parent int32 // parent -1: the label is settled
	label         int32
	answers       int // a leaf's label for each label of its parent is from here on
}

func reduce(g *graph, prefer []int32) *reduction {
	n := g.size()
	r := &reduction{g: g, prefer: prefer, cost: append([]float64(nil), g.unary...), constant: g.constant,
		must: make([]float64, n*g.k), cannot: make([]float64, n*g.k),
		degree: make([]int32, n), gone: make([]bool, n), queued: make([]bool, n)}
	for i := range int32(n) {
		r.degree[i] = int32(g.start[i+1] - g.start[i])
		must, cannot := 0.0, 0.0
		for _, w := range g.weight[g.start[i]:g.start[i+1]] {
			must += max(w, 0)
			cannot += max(-w, 0)
		}
		for label := range g.k {
			r.must[int(i)*g.k+label], r.cannot[int(i)*g.k+label] = must, cannot
		}
		r.enqueue(i)
	}
	for at := 0; at < len(r.queue); at++ {
		if 2*at > len(r.queue) && at > n { // what is done makes room
			r.queue = append(r.queue[:0], r.queue[at:]...)
			at = 0
		}
		i := r.queue[at]
		r.queued[i] = false
		if !r.gone[i] {
			r.shrink(i)
		}
	}
	return r
}

func (r *reduction) enqueue(i int32) {
	if !r.queued[i] && !r.gone[i] {
		r.queued[i] = true
		r.queue = append(r.queue, i)
	}
}

func (r *reduction) row(of []float64, i int32) []float64 {
	return of[int(i)*r.g.k : (int(i)+1)*r.g.k]
}

// shrink rules out labels of a point and removes the point when it can.
func (r *reduction) shrink(i int32) {
	left := r.ruleOut(i)
	switch {
	case r.degree[i] == 0 || left == 1:
		r.settle(i)
	case r.degree[i] == 1:
		r.peel(i)
	}
}

// ruleOut drops every label a with cost_a - must_a > min_b (cost_b + cannot_b) and counts what is left.
func (r *reduction) ruleOut(i int32) int {
	cost, must, cannot := r.row(r.cost, i), r.row(r.must, i), r.row(r.cannot, i)
	best := 0
	for b := range cost {
		if cost[b]+cannot[b] < cost[best]+cannot[best] {
			best = b
		}
	}
	limit := cost[best] + cannot[best]
	left := 0
	for a := range cost {
		if math.IsInf(cost[a], 1) {
			continue
		}
		slack := float64(1e-12 * (math.Abs(cost[a]) + must[a] + math.Abs(cost[best]) + cannot[best]))
		if a == best || cost[a]-must[a] <= limit+slack {
			left++
			continue
		}
		cost[a] = math.Inf(1)
		r.neighborsLose(i, a)
	}
	return left
}

// neighborsLose takes a label of a point out of its neighbors' sums.
func (r *reduction) neighborsLose(i int32, label int) {
	for e := r.g.start[i]; e < r.g.start[i+1]; e++ {
		j := r.g.to[e]
		if r.gone[j] {
			continue
		}
		at := int(j)*r.g.k + label
		if w := r.g.weight[e]; w > 0 {
			r.must[at] = max(0, r.must[at]-w)
		} else {
			r.cannot[at] = max(0, r.cannot[at]+w)
		}
		r.enqueue(j)
	}
}

// settle gives a point its label for good and folds it into its neighbors.
func (r *reduction) settle(i int32) {
	cost := r.row(r.cost, i)
	label := cheapest(cost, r.prefer[i])
	r.constant += cost[label]
	r.remove(i, removal{point: i, parent: -1, label: label})
	for e := r.g.start[i]; e < r.g.start[i+1]; e++ {
		j, w := r.g.to[e], r.g.weight[e]
		if r.gone[j] {
			continue
		}
		row := r.row(r.cost, j)
		row[label] -= w // as in ICM: signed weights need one subtraction
		if w > 0 {
			r.constant += w
		}
	}
}

// peel sends a leaf's message to its only neighbor: for each label there, the least that the leaf and
// the edge can cost.
func (r *reduction) peel(i int32) {
	parent, weight := r.onlyNeighbor(i)
	cost := r.row(r.cost, i)
	first, second := twoCheapest(cost, r.prefer[i])
	row := r.row(r.cost, parent)
	base := cost[first]
	r.constant += base
	step := removal{point: i, parent: parent, answers: len(r.answers)}
	for label := range int32(r.g.k) {
		answer := answerTo(label, first, second, cost, weight)
		r.answers = append(r.answers, answer)
		row[label] += (cost[answer] - base) + penalty(weight, answer, label)
	}
	r.remove(i, step)
}

// answerTo is the cheapest label for a point whose neighbor has the given one: its own first choice,
// or the neighbor's label for a must-link, or the second choice for a cannot-link.
func answerTo(label, first, second int32, cost []float64, weight float64) int32 {
	switch {
	case weight > 0 && cost[label] < cost[first]+weight:
		return label
	case weight < 0 && label == first && cost[second] < cost[first]-weight:
		return second
	}
	return first
}

// twoCheapest are the best label and the best of the others (the same where there is only one).
func twoCheapest(cost []float64, preferred int32) (first, second int32) {
	first = cheapest(cost, preferred)
	second = -1
	for label, c := range cost {
		if int32(label) != first && (second < 0 || c < cost[second]) {
			second = int32(label)
		}
	}
	if second < 0 {
		second = first
	}
	return first, second
}

func (r *reduction) onlyNeighbor(i int32) (int32, float64) {
	e := r.g.start[i]
	for r.gone[r.g.to[e]] {
		e++
	}
	return r.g.to[e], r.g.weight[e]
}

func (r *reduction) remove(i int32, how removal) {
	r.gone[i] = true
	r.trail = append(r.trail, how)
	for label, cost := range r.row(r.cost, i) {
		if !math.IsInf(cost, 1) {
			r.neighborsLose(i, label)
		}
	}
	for e := r.g.start[i]; e < r.g.start[i+1]; e++ {
		if j := r.g.to[e]; !r.gone[j] {
			r.degree[j]--
			r.enqueue(j)
		}
	}
}

// pieces are what is left, one graph per connected component, with the points called as in r.g. Every
// point of them has at least two labels left and two neighbors.
func (r *reduction) pieces() []*graph {
	var left []int32
	for i, gone := range r.gone {
		if !gone {
			left = append(left, int32(i))
		}
	}
	if len(left) == 0 {
		return nil
	}
	whole := *r.g
	whole.unary = r.cost
	core := whole.part(left, make([]int32, r.g.size()))
	parts := split(core)
	for _, part := range parts {
		for at, i := range part.points {
			part.points[at] = core.points[i]
		}
	}
	return parts
}

// extend gives the points that were removed their labels, the last to go first.
func (r *reduction) extend(labels []int32) {
	for at := len(r.trail) - 1; at >= 0; at-- {
		how := r.trail[at]
		labels[how.point] = how.label
		if how.parent >= 0 {
			labels[how.point] = r.answers[how.answers+int(labels[how.parent])]
		}
	}
}
