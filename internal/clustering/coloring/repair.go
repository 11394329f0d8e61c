package coloring

import (
	"context"
	"slices"
)

// maxTrades bounds the trades of Repair, in visits of a neighbor, and takes less than a second. Graphs in which most
// vertices must be apart from most others, as if many wrong constraints were given, would need a multiple of it.
const maxTrades = 20_000_000

// Repair changes the colors of vertices until no two neighbors share one, as far as it can. First, one of the two moves
// to a color that none of its neighbors has, at the least cost. If there is none, two colors are traded along a chain
// of vertices (Kempe). If that fails too, Search colors the part of the graph; a part whose search has failed is not
// searched again. Neighbors that share a color when the work is up keep it, unless one of them can move. It fails only
// if the context ends.
func (g *Graph) Repair(ctx context.Context, colors []int32, cost Cost) ([]int32, error) {
	r := &repair{
		Graph:    g,
		cost:     cost,
		colors:   slices.Clone(colors),
		taken:    make([]bool, g.k),
		searcher: newSearcher(g, cost),
		failed:   make([]bool, g.Len()),
		seen:     make([]int, g.Len()),
		trades:   maxTrades,
	}
	for v := range int32(g.Len()) {
		for _, u := range g.neighbors[v] {
			if r.colors[v] != r.colors[u] || r.move(v, u) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if r.trade(v, u) {
				continue
			}
			if err := r.search(ctx, v, u); err != nil {
				return nil, err
			}
		}
	}
	return r.colors, nil
}

// repair is the state of Repair.
type repair struct {
	*Graph
	cost     Cost
	colors   []int32
	taken    []bool // per color
	searcher *searcher
	failed   []bool // vertices for which a search has failed
	chains   int    // number of chains so far
	seen     []int  // the last chain that each vertex is in
	trades   int    // remaining work of trades
}

// change returns the change of the cost if a vertex changes its color.
func (r *repair) change(v, color int32) float64 { return r.cost(v, color) - r.cost(v, r.colors[v]) }

// move moves one of two vertices to a color that no neighbor has, at the least cost. It returns false if there is none.
func (r *repair) move(v, u int32) bool {
	best := int32(None)
	to := int32(None)
	least := 0.0
	for _, one := range []int32{v, u} {
		if r.given[one] != None {
			continue
		}
		r.mark(r.taken, one, r.colors)
		color := cheapest(r.taken, func(c int32) float64 { return r.change(one, c) })
		if color == None {
			continue
		}
		if change := r.change(one, color); best == None || change < least {
			best = one
			to = color
			least = change
		}
	}
	if best == None {
		return false
	}
	r.colors[best] = to
	return true
}

// trade swaps two colors along a chain that starts at one of two vertices, at the least cost. It returns false if there
// is none, or if the work is up.
func (r *repair) trade(v, u int32) bool {
	var best []int32
	var from, to int32
	least := 0.0
	for _, ends := range [][2]int32{{v, u}, {u, v}} {
		own := r.colors[ends[0]]
		for c := range int32(r.k) {
			if c == own || r.trades <= 0 {
				continue
			}
			chain, change := r.chain(ends[0], ends[1], own, c)
			if chain != nil && (best == nil || change < least) {
				best = chain
				from = own
				to = c
				least = change
			}
		}
	}
	for _, one := range best {
		r.colors[one] = from + to - r.colors[one]
	}
	return best != nil
}

// chain returns the vertices with the colors own and c that must swap them with first, and the change of the cost. It
// returns nil if one of them has a given color or is without, from which first must be separated, or if the work is up.
func (r *repair) chain(first, without, own, c int32) ([]int32, float64) {
	r.chains++
	r.seen[first] = r.chains
	chain := []int32{first}
	change := 0.0
	for at := 0; at < len(chain); at++ {
		v := chain[at]
		if r.given[v] != None {
			return nil, 0
		}
		target := own + c - r.colors[v]
		change += r.change(v, target)
		r.trades -= 1 + len(r.neighbors[v])
		if r.trades < 0 {
			return nil, 0
		}
		for _, next := range r.neighbors[v] {
			if r.colors[next] != target || r.seen[next] == r.chains {
				continue
			}
			if next == without {
				return nil, 0
			}
			r.seen[next] = r.chains
			chain = append(chain, next)
		}
	}
	return chain, change
}

// search colors the part of the graph of one of two vertices. If it fails, nothing changes.
func (r *repair) search(ctx context.Context, v, u int32) error {
	if r.given[v] != None { // then the color of u is not given, because the edge would contradict both
		v = u
	}
	if r.given[v] != None || r.failed[v] {
		return nil
	}
	part := r.part(v)
	found, verdict, err := r.searcher.color(ctx, part)
	if err != nil {
		return err
	}
	for at, one := range part {
		if verdict == Colorable {
			r.colors[one] = found[at]
		} else {
			r.failed[one] = true
		}
	}
	return nil
}
