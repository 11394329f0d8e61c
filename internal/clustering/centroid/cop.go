package centroid

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// cop is COP-KMeans: k-means under hard constraints. Components of the must-links are assigned as a
// whole, in index order, each to the nearest cluster that holds nothing it is cannot-linked to. A dead
// end on the way is not yet infeasible: other orders are tried, then an exact search.
type cop struct {
	lloyd
	*coloring
}

func newCop(run state) *cop {
	m := &cop{lloyd: lloyd{state: run}, coloring: run.p.search}
	m.assign = m.assignPoints
	return m
}

// checkFeasible refuses constraints that no labels can satisfy, as far as that is easy to see.
func (p *Problem) checkFeasible() error {
	const field = "spec.supervision.constraints"
	if p.Constraints.CountConflicts() > 0 {
		return fault.Invalid("INCONSISTENT_CONSTRAINTS", "%s: no labels satisfy both, and cop-kmeans takes constraints as hard",
			p.Constraints.Conflicts(1)[0]).OnField(field)
	}
	if components := p.Constraints.Components().Count(); components < p.spec.K {
		return fault.Invalid("INFEASIBLE_CONSTRAINTS", "the constraints are proven infeasible: the must-links leave %d groups of points, too few for %d clusters that are not empty",
			components, p.spec.K).OnField(field)
	}
	p.search = newColoring(p.Constraints, p.spec.K)
	if clique := p.search.clique(); clique != nil {
		var names []string
		for _, v := range clique[:min(len(clique), 12)] {
			names = append(names, p.search.name(v))
		}
		return fault.Invalid("INFEASIBLE_CONSTRAINTS", "the constraints are proven infeasible: %d points are all cannot-linked to each other (%s), which needs as many clusters, and k is %d",
			len(clique), strings.Join(names, ", "), p.spec.K).OnField(field)
	}
	return nil
}

// name is a component for people: its first point, and how many are must-linked to it.
func (g *coloring) name(v int32) string {
	if more := len(g.members[v]) - 1; more > 0 {
		return fmt.Sprintf("%d with %d must-linked to it", g.members[v][0], more)
	}
	return fmt.Sprint(g.members[v][0])
}

// assignPoints moves free points to the nearest centroid and components where the pass puts them.
func (m *cop) assignPoints(ctx context.Context) (moved int, err error) {
	moves, err := m.x.Assign(ctx, m.model(), m.points)
	if err != nil {
		return 0, err
	}
	if len(m.points) > 0 {
		together, err := m.assignComponents(ctx)
		if err != nil {
			return 0, err
		}
		moves = append(moves, together...)
		slices.SortFunc(moves, func(a, b kernel.Move) int { return int(a.Point) - int(b.Point) })
	}
	if len(moves) == 0 {
		return 0, nil
	}
	return len(moves), m.apply(ctx, moves)
}

func (m *cop) assignComponents(ctx context.Context) ([]kernel.Move, error) {
	distances, err := m.x.Distances(ctx, m.model(), m.points)
	if err != nil {
		return nil, err
	}
	k := m.coloring.k
	costs := make([]float64, len(m.components)*k)
	for at, v := range m.place {
		for c := range k {
			costs[int(v)*k+c] += distances[at*k+c]
		}
	}
	colours, err := m.pass(costs)
	if err != nil {
		return nil, err
	}
	// A greedy pass may be worse than what was there, which then stays: the objective never rises.
	if current, had := m.current(); had && !(total(colours, costs, k) < total(current, costs, k)) {
		colours = current
	}
	var moves []kernel.Move
	for at, point := range m.points {
		if to := colours[m.place[at]]; to != m.labels[point] {
			moves = append(moves, kernel.Move{Point: point, From: m.labels[point], To: to})
		}
	}
	return moves, nil
}

// pass assigns all components: in index order, in random ones, by search.
func (m *cop) pass(costs []float64) ([]int32, error) {
	order := make([]int32, len(m.components))
	for v := range order {
		order[v] = int32(v)
	}
	for range 1 + m.p.options.MaxRestarts {
		if colours, ok := m.greedy(order, costs); ok {
			return colours, nil
		}
		m.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	colours, found := m.exact(searchLimit)
	const field = "spec.supervision.constraints"
	switch found {
	case uncolorable:
		return nil, fault.Invalid("INFEASIBLE_CONSTRAINTS", "the constraints are proven infeasible: an exhaustive search found no way to put %d cannot-linked groups of points into %d clusters",
			len(m.components), m.coloring.k).OnField(field)
	case undecided:
		return nil, fault.New(fault.FailedPrecondition, "COP_DEAD_END", "cop-kmeans came to a dead end: %s and a search of %d steps found no labels that satisfy the cannot-links, which may or may not exist; give more clusters, fewer constraints or more --max-restarts, or take pc-kmeans, which may violate some",
			text.Plural(1+m.p.options.MaxRestarts, "order"), searchLimit)
	}
	return m.cheapen(colours, costs), nil
}

// current is the labels of the components, if they are whole and keep the cannot-links.
func (m *cop) current() ([]int32, bool) {
	colours := make([]int32, len(m.components))
	for v, members := range m.members {
		colours[v] = m.labels[members[0]]
		for _, point := range members {
			if m.labels[point] < 0 || m.labels[point] != colours[v] {
				return nil, false
			}
		}
	}
	return colours, m.satisfied(colours)
}

func total(colours []int32, costs []float64, k int) float64 {
	sum := 0.0
	for v, c := range colours {
		sum += costs[v*k+int(c)]
	}
	return sum
}
