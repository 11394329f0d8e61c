package kmeans

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/coloring"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// cop is COP-KMeans: k-means under hard constraints. Must-link components are assigned as a whole, in index order, each
// to the nearest cluster without a point that it is cannot-linked to. A dead end does not prove that there is no
// solution: random orders are tried next, then an exact search.
type cop struct {
	lloyd
	*colored
}

func newCop(run state) *cop {
	m := &cop{lloyd: lloyd{state: run}, colored: run.p.colored}
	if len(m.points) > 0 {
		m.assign = m.assignPoints
	}
	return m
}

// checkFeasible rejects constraints that no labels can satisfy, if a quick check can prove it.
func (p *Problem) checkFeasible() error {
	if p.Constraints.CountConflicts() > 0 {
		return invalid.New(invalid.Conflict, "conflict", p.Constraints.Conflicts(1)[0])
	}
	if components := p.Constraints.Components().Count(); components < p.spec.K {
		return invalid.New(invalid.TooFewGroups, "groups", components, "k", p.spec.K)
	}
	p.colored = newColored(p.Constraints, p.spec.K)
	if clique := p.colored.Clique(); clique != nil {
		var names []string
		for _, v := range clique[:min(len(clique), 12)] {
			names = append(names, p.colored.describe(v))
		}
		return invalid.New(invalid.Clique, "count", len(clique), "points", strings.Join(names, ", "), "k", p.spec.K)
	}
	return nil
}

// describe names a component in messages: its first point, and how many others are must-linked to it.
func (g *colored) describe(v int32) string {
	if more := len(g.members[v]) - 1; more > 0 {
		return fmt.Sprintf("%d with %d must-linked to it", g.members[v][0], more)
	}
	return fmt.Sprint(g.members[v][0])
}

// assignPoints moves unconstrained points to the nearest centroid, and components to their new clusters.
func (m *cop) assignPoints(ctx context.Context) (moved int, err error) {
	moves, err := m.x.Assign(m.model(), m.points)
	if err != nil {
		return 0, err
	}
	together, err := m.assignComponents(ctx)
	if err != nil {
		return 0, err
	}
	return m.apply(moves, together)
}

// assignComponents returns the moves to a valid assignment that costs no more than the current one, if that is
// valid.
func (m *cop) assignComponents(ctx context.Context) ([]labeling.Move, error) {
	distances, err := m.x.Distances(m.model(), m.points)
	if err != nil {
		return nil, err
	}
	k := m.colored.k
	costs := m.costs(distances, k)
	colors, err := m.colorComponents(ctx, costs)
	if err != nil {
		return nil, err
	}
	// If the greedy coloring costs more than the current one, keep the latter, so that the objective never rises.
	if current, valid := m.currentColors(); valid && !(totalCost(colors, costs, k) < totalCost(current, costs, k)) {
		colors = current
	}
	return m.movesTo(m.points, func(at int) int32 { return colors[m.group[at]] }), nil
}

// colorComponents finds clusters for all components: greedily in index order, then in random orders, then by a search.
func (m *cop) colorComponents(ctx context.Context, costs []float64) ([]int32, error) {
	k := m.colored.k
	cost := func(v, c int32) float64 { return costs[int(v)*k+int(c)] }
	order := choose.All[int32](m.Len())
	for range 1 + m.p.options.MaxRestarts {
		if colors, ok := m.Greedy(order, cost); ok {
			return colors, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	colors, found, err := m.Search(ctx, cost)
	if err != nil {
		return nil, err
	}
	switch found {
	case coloring.Uncolorable:
		return nil, invalid.New(invalid.NotColorable, "groups", m.Len(), "k", k)
	case coloring.Undecided:
		return nil, invalid.New(invalid.NotColored, "orders", 1+m.p.options.MaxRestarts, "steps", coloring.SearchLimit)
	}
	return m.Reduce(ctx, colors, cost)
}

// currentColors returns the labels of the components, or false unless all points of each agree and no cannot-link is
// violated.
func (m *cop) currentColors() ([]int32, bool) {
	colors := make([]int32, m.Len())
	for v, members := range m.members {
		colors[v] = m.labels[members[0]]
		for _, point := range members {
			if m.labels[point] < 0 || m.labels[point] != colors[v] {
				return nil, false
			}
		}
	}
	return colors, m.Satisfied(colors)
}

func totalCost(colors []int32, costs []float64, k int) float64 {
	sum := 0.0
	for v, c := range colors {
		sum += costs[v*k+int(c)]
	}
	return sum
}
