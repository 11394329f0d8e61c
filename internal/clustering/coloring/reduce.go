package coloring

import (
	"context"
	"slices"
)

// Reduce makes a coloring cheaper: it permutes the colors within each part of the graph that has no neighbor with a
// given color, then changes the colors of single vertices as long as that lowers the cost. It fails only if the context
// ends.
func (g *Graph) Reduce(ctx context.Context, colors []int32, cost Cost) ([]int32, error) {
	colors = slices.Clone(colors)
	p := &permuter{Graph: g, cost: cost, begin: make([]int, g.k), to: make([]int32, g.k), taken: make([]bool, g.k)}
	for _, part := range g.parts() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !g.besideGiven(part) {
			p.permute(part, colors)
		}
	}
	return colors, g.descend(ctx, colors, cost)
}

// besideGiven reports whether a vertex of a part has a neighbor with a given color.
func (g *Graph) besideGiven(part []int32) bool {
	return slices.ContainsFunc(part, func(v int32) bool {
		return slices.ContainsFunc(g.neighbors[v], func(u int32) bool { return g.given[u] != None })
	})
}

// permuter permutes the colors of parts.
type permuter struct {
	*Graph
	cost Cost
	// totals has what the vertices of one color would cost in each of the k colors, for the colors of a part. Those of
	// color c start at begin[c], which is -1 if the part does not have the color.
	totals []float64
	begin  []int
	to     []int32
	taken  []bool
}

// permute gives the colors of a part, in order, the cheapest color that is left, if that makes the part cheaper.
func (p *permuter) permute(part, colors []int32) {
	p.totals = p.totals[:0]
	for c := range p.begin {
		p.begin[c] = -1
	}
	for _, v := range part {
		from := &p.begin[colors[v]]
		if *from < 0 {
			*from = len(p.totals)
			p.totals = append(p.totals, make([]float64, p.k)...)
		}
		for c := range p.k {
			p.totals[*from+c] += p.cost(v, int32(c))
		}
	}
	clear(p.taken)
	before := 0.0
	after := 0.0
	for from, at := range p.begin {
		if at < 0 {
			continue
		}
		totals := p.totals[at : at+p.k]
		to := cheapest(p.taken, func(c int32) float64 { return totals[c] })
		p.to[from] = to
		p.taken[to] = true
		before += totals[from]
		after += totals[to]
	}
	if !(after < before) {
		return
	}
	for _, v := range part {
		colors[v] = p.to[colors[v]]
	}
}

// descend changes the colors of single vertices to cheaper ones until there are none.
func (g *Graph) descend(ctx context.Context, colors []int32, cost Cost) error {
	taken := make([]bool, g.k)
	for changed := true; changed; {
		if err := ctx.Err(); err != nil {
			return err
		}
		changed = false
		for v := range int32(len(colors)) {
			if g.given[v] != None {
				continue
			}
			g.mark(taken, v, colors)
			c := cheapest(taken, func(c int32) float64 { return cost(v, c) })
			if c != None && cost(v, c) < cost(v, colors[v]) {
				colors[v] = c
				changed = true
			}
		}
	}
	return nil
}
