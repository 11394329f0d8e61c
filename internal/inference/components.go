package inference

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/connected"
)

// graph is a part of the problem: some points and the constraints among them. All pairs of the same two points are one
// edge with a signed weight, because
//
//	m [l_i != l_j] + c [l_i = l_j] = min(m, c) + (m - c)+ [l_i != l_j] + (c - m)+ [l_i = l_j].
//
// Labels that a reduction has ruled out cost +Inf.
type graph struct {
	k        int
	points   []int32   // the points' numbers in the graph that this one was taken from, ascending
	unary    []float64 // points x k
	start    []int     // the edges of point i are start[i] .. start[i+1]-1
	to       []int32   // the other end, ascending within a point
	weight   []float64 // positive for a must-link, negative for a cannot-link, never 0
	constant float64   // the cost of the pairs that no labels can avoid
}

func (g *graph) size() int { return len(g.points) }

// row returns a point's cost for each label.
func (g *graph) row(i int32) []float64 { return g.unary[int(i)*g.k : (int(i)+1)*g.k] }

// energy returns E(labels) of this part.
func (g *graph) energy(labels []int32) float64 {
	total := g.constant
	for i, label := range labels {
		total += g.unary[i*g.k+int(label)]
		for e := g.start[i]; e < g.start[i+1]; e++ {
			if j := g.to[e]; int(j) > i {
				total += penalty(g.weight[e], label, labels[j])
			}
		}
	}
	return total
}

// penalty returns the cost of an edge whose ends have the labels a and b.
func penalty(weight float64, a, b int32) float64 {
	if (a == b) == (weight > 0) {
		return 0
	}
	return math.Abs(weight)
}

// rounding bounds the rounding error of an energy of this part. Smaller differences are not significant.
func (g *graph) rounding() float64 {
	magnitude := math.Abs(g.constant)
	for i := range g.size() {
		largest := 0.0
		for _, cost := range g.row(int32(i)) {
			if !math.IsInf(cost, 1) {
				largest = max(largest, math.Abs(cost))
			}
		}
		magnitude += largest
	}
	for _, w := range g.weight {
		magnitude += math.Abs(w)
	}
	return 1e-13 * magnitude
}

// edge is a merged pair, i < j.
type edge struct {
	i, j   int32
	weight float64
}

// wholeGraph merges the pairs. It sorts them first, so that the bits do not depend on their order.
func wholeGraph(p *terms) *graph {
	pairs := slices.Clone(p.pairs)
	for at, pair := range pairs {
		if pair.I > pair.J {
			pairs[at].I, pairs[at].J = pair.J, pair.I
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J), cmp.Compare(a.Cost, b.Cost))
	})
	constant := 0.0
	edges := make([]edge, 0, len(pairs))
	for len(pairs) > 0 {
		i, j, must, cannot := pairs[0].I, pairs[0].J, 0.0, 0.0
		for len(pairs) > 0 && pairs[0].I == i && pairs[0].J == j {
			if pairs[0].MustLink {
				must += pairs[0].Cost
			} else {
				cannot += pairs[0].Cost
			}
			pairs = pairs[1:]
		}
		constant += min(must, cannot)
		if must != cannot {
			edges = append(edges, edge{i, j, must - cannot})
		}
	}
	g := newGraph(p.k, choose.All[int32](p.points()), p.unary, edges)
	g.constant = constant
	return g
}

// newGraph builds the lists of edges from edges that are sorted by (i, j).
func newGraph(k int, points []int32, unary []float64, edges []edge) *graph {
	g := &graph{k: k, points: points, unary: unary, start: make([]int, len(points)+1)}
	for _, e := range edges {
		g.start[e.i+1]++
		g.start[e.j+1]++
	}
	for i := range points {
		g.start[i+1] += g.start[i]
	}
	g.to = make([]int32, 2*len(edges))
	g.weight = make([]float64, 2*len(edges))
	next := slices.Clone(g.start)
	put := func(from, to int32, weight float64) {
		g.to[next[from]], g.weight[next[from]] = to, weight
		next[from]++
	}
	for _, e := range edges { // edges to lower points first, so that each list is ascending
		put(e.j, e.i, e.weight)
	}
	for _, e := range edges {
		put(e.i, e.j, e.weight)
	}
	return g
}

// split returns the connected components of a graph, in the order of their lowest points. The constant goes to the
// first.
func split(g *graph) []*graph {
	place := make([]int32, g.size())
	var parts []*graph
	for _, points := range connected.Parts(g.size(), choose.All[int32](g.size()), func(i int32) []int32 {
		return g.to[g.start[i]:g.start[i+1]]
	}) {
		parts = append(parts, g.part(points, place))
	}
	if len(parts) > 0 {
		parts[0].constant = g.constant
	}
	return parts
}

// part returns the graph of some points, given in ascending order, with the edges among them. place is scratch space,
// one number per point of g.
func (g *graph) part(points []int32, place []int32) *graph {
	for at, i := range points {
		place[i] = int32(at)
	}
	unary := make([]float64, 0, len(points)*g.k)
	var edges []edge
	for at, i := range points {
		unary = append(unary, g.row(i)...)
		for e := g.start[i]; e < g.start[i+1]; e++ {
			j := g.to[e]
			if within := int(place[j]) < len(points) && points[place[j]] == j; within && j > i {
				edges = append(edges, edge{int32(at), place[j], g.weight[e]})
			}
		}
	}
	return newGraph(g.k, points, unary, edges)
}
