package inference

import (
	"context"
	"math"
)

// reduction makes a graph smaller, until nothing more can be done, without changing its least energy or the optimum of
// its linear relaxation:
//
//   - A label is ruled out if another is cheaper for any labels of the neighbors (dead-end elimination). Moving a
//     share of a point from label a to label b changes the cost of a must-link by at most its weight, and only if
//     the neighbor can have a; that of a cannot-link only if the neighbor can have b. This holds for fractions as
//     well as for whole points.
//   - A point with one label left is folded into the costs of its neighbors.
//   - A leaf sends its min-sum message to its only neighbor, and remembers its best answer to each of the neighbor's
//     labels. For given shares of the neighbor, the relaxation of the edge is the same message, linear in the
//     shares, so that the relaxation of a tree is integral.
//
// On a tree this is the exact two-pass max-product algorithm: from the leaves inward, then back by the answers.
type reduction struct {
	g        *graph
	prefer   []int32   // labels that win ties
	cost     []float64 // points x k; +Inf for labels that are ruled out
	must     []float64 // points x k: the weight of must-links to neighbors that can have the label
	cannot   []float64 // points x k: the same for cannot-links
	degree   []int32   // neighbors left
	gone     []bool
	queue    []int32 // points to look at again, first in, first out
	queued   []bool
	trail    []removal // in the order in which points were removed
	answers  []int32   // of the removed leaves, k each
	constant float64   // the energy that does not depend on the remaining points
}

// removal records how a removed point gets its label, after the points that were removed later have theirs.
type removal struct {
	point, parent int32 // parent is -1 if the label is settled
	label         int32
	answers       int // where a leaf's labels for each label of its parent begin in reduction.answers
}

// reduce reduces a graph as far as it can. Preferred labels win ties.
func reduce(ctx context.Context, g *graph, prefer []int32) (*reduction, error) {
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
	for at, looked := 0, 0; at < len(r.queue); at, looked = at+1, looked+1 {
		if looked%looksBetweenChecks == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if 2*at > len(r.queue) && at > n { // drop the processed entries
			r.queue = append(r.queue[:0], r.queue[at:]...)
			at = 0
		}
		i := r.queue[at]
		r.queued[i] = false
		if !r.gone[i] {
			r.shrink(i)
		}
	}
	return r, nil
}

// looksBetweenChecks is how many points are looked at before the context is.
const looksBetweenChecks = 1 << 12

func (r *reduction) enqueue(i int32) {
	if !r.queued[i] && !r.gone[i] {
		r.queued[i] = true
		r.queue = append(r.queue, i)
	}
}

func (r *reduction) row(values []float64, i int32) []float64 {
	return values[int(i)*r.g.k : (int(i)+1)*r.g.k]
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

// ruleOut rules out every label a with cost_a - must_a > min_b (cost_b + cannot_b), and returns how many are left.
func (r *reduction) ruleOut(i int32) int {
	cost := r.row(r.cost, i)
	must := r.row(r.must, i)
	cannot := r.row(r.cannot, i)
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

// neighborsLose removes a label of a point from its neighbors' sums.
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

// settle fixes the label of a point and folds the point into its neighbors.
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
		row[label] -= w // as in ICM, one subtraction serves both kinds of edges
		if w > 0 {
			r.constant += w
		}
	}
}

// peel removes a leaf and adds its message to its only neighbor: for each label there, the least cost of the leaf and
// the edge.
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

// answerTo returns the cheapest label for a leaf whose neighbor has the given label: its first choice, or for a
// must-link the neighbor's label, or for a cannot-link its second choice.
func answerTo(label, first, second int32, cost []float64, weight float64) int32 {
	switch {
	case weight > 0 && cost[label] < cost[first]+weight:
		return label
	case weight < 0 && label == first && cost[second] < cost[first]-weight:
		return second
	}
	return first
}

// twoCheapest returns the best label and the best of the others; the same twice if there is only one.
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

// remove takes a point out of the graph and records how to label it later. Its neighbors are looked at again.
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

// pieces returns the remaining graph, one part per connected component, with the points numbered as in r.g. Every point
// has at least two labels and two neighbors left.
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

// extend labels the points that were removed, in reverse order.
func (r *reduction) extend(labels []int32) {
	for at := len(r.trail) - 1; at >= 0; at-- {
		how := r.trail[at]
		labels[how.point] = how.label
		if how.parent >= 0 {
			labels[how.point] = r.answers[how.answers+int(labels[how.parent])]
		}
	}
}
