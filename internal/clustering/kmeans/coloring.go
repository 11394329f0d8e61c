package kmeans

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/connected"
)

// coloring represents the constraints of COP-KMeans as a graph to color: must-link components are vertices,
// cannot-links between them are edges, and clusters are colors. Unconstrained points are not vertices.
type coloring struct {
	groups     // the vertices
	k          int
	components []int32   // must-link component of each vertex, ascending
	neighbors  [][]int32 // of each vertex, ascending
}

// newColoring returns the graph of cannot-links between components. Single points without cannot-links are not part
// of it.
func newColoring(set *constraint.Set, k int) *coloring {
	g := &coloring{k: k}
	all := set.Components()
	linked := map[int32]bool{}
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			linked[all.Of(pair.I)], linked[all.Of(pair.J)] = true, true
		}
	}
	for c := range int32(all.Count()) {
		if len(all.Members(c)) > 1 || linked[c] {
			g.components = append(g.components, c)
		}
	}
	var vertex map[int32]int32
	g.groups, vertex = newGroups(all, g.components)
	g.neighbors = make([][]int32, len(g.components))
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			a, b := vertex[all.Of(pair.I)], vertex[all.Of(pair.J)]
			g.neighbors[a], g.neighbors[b] = append(g.neighbors[a], b), append(g.neighbors[b], a)
		}
	}
	for v := range g.neighbors {
		slices.Sort(g.neighbors[v])
		g.neighbors[v] = slices.Compact(g.neighbors[v])
	}
	return g
}

func (g *coloring) adjacent(a, b int32) bool {
	_, found := slices.BinarySearch(g.neighbors[a], b)
	return found
}

// clique looks for more than k components that are all cannot-linked to each other, greedily from every vertex. It may
// miss a clique, but what it returns is one.
func (g *coloring) clique() []int32 {
	for v := range int32(len(g.neighbors)) {
		if len(g.neighbors[v]) < g.k {
			continue
		}
		clique := []int32{v}
		candidates := slices.Clone(g.neighbors[v])
		slices.SortStableFunc(candidates, func(a, b int32) int {
			return cmp.Compare(len(g.neighbors[b]), len(g.neighbors[a]))
		})
		for _, u := range candidates {
			if !slices.ContainsFunc(clique, func(w int32) bool { return !g.adjacent(u, w) }) {
				clique = append(clique, u)
			}
		}
		if len(clique) > g.k {
			slices.Sort(clique)
			return clique
		}
	}
	return nil
}

// greedy gives each vertex, in the given order, the cheapest color that no neighbor has. It returns false if no color
// is left for a vertex. costs holds k values for each vertex.
func (g *coloring) greedy(order []int32, costs []float64) (colors []int32, ok bool) {
	colors = clustering.Unassigned(len(g.components))
	taken := make([]bool, g.k)
	for _, v := range order {
		clear(taken)
		for _, u := range g.neighbors[v] {
			if colors[u] >= 0 {
				taken[colors[u]] = true
			}
		}
		row := costs[int(v)*g.k : (int(v)+1)*g.k]
		for c, cost := range row {
			if !taken[c] && (colors[v] < 0 || cost < row[colors[v]]) {
				colors[v] = int32(c)
			}
		}
		if colors[v] < 0 {
			return nil, false
		}
	}
	return colors, true
}

// searchLimit is how many times the exact search may color a vertex.
const searchLimit = 2_000_000

// verdict is the outcome of the exact search.
type verdict uint8

const (
	colorable verdict = iota + 1
	uncolorable
	undecided
)

// exact looks for any coloring by exhaustive search, which gives up after coloring `limit` vertices. The next vertex is
// always the one with the fewest colors left (DSATUR). Colors that no vertex has yet are interchangeable, so only the
// first of them is tried. It fails only if the context ends. It takes memory for the graph, and time O(degree (log n +
// min(k, degree))) to color a vertex. The search of package enforce differs: there clusters have costs, and some are
// given.
func (g *coloring) exact(ctx context.Context, limit int) ([]int32, verdict, error) {
	n := len(g.components)
	colors := clustering.Unassigned(n)
	near, saturation := newTally(g), make([]int32, n) // saturation[v] is the number of different colors near v
	// next is a tournament of the vertices, which are its leaves next[n:]: next[i] is the one of next[2*i] and
	// next[2*i+1] to color first, so next[1] is the first of all. Colored vertices lose against all others.
	next := slices.Concat(make([]int32, n), choose.All[int32](n))
	for at := n - 1; at > 0; at-- {
		next[at] = g.first(next[2*at], next[2*at+1], colors, saturation)
	}
	update := func(v int32) {
		for at := (n + int(v)) / 2; at > 0; at /= 2 {
			before := next[at]
			if next[at] = g.first(next[2*at], next[2*at+1], colors, saturation); next[at] == before && before != v {
				return
			}
		}
	}
	// mark is called when v gets the color c (sign 1) or loses it (sign -1).
	mark := func(v, c, sign int32) {
		update(v)
		for _, u := range g.neighbors[v] {
			count := near.count(u, c)
			if *count == 0 || (*count == 1 && sign < 0) {
				if saturation[u] += sign; colors[u] < 0 {
					update(u)
				}
			}
			*count += sign
		}
	}
	type choice struct {
		vertex, color int32
		used          int32 // colors in use before it
	}
	var path []choice
	pick := func() int32 {
		if len(path) == n {
			return -1
		}
		return next[1]
	}
	used, nodes := int32(0), 0
	v, c := pick(), int32(0)
	for v >= 0 {
		for c < int32(g.k) && c <= used && *near.count(v, c) > 0 {
			c++
		}
		if c < int32(g.k) && c <= used {
			if nodes++; nodes > limit {
				return nil, undecided, nil
			}
			if nodes%64 == 0 && ctx.Err() != nil {
				return nil, 0, ctx.Err()
			}
			path = append(path, choice{v, c, used})
			colors[v] = c
			mark(v, c, 1)
			used = max(used, c+1)
			v, c = pick(), 0
			continue
		}
		if len(path) == 0 {
			return nil, uncolorable, nil
		}
		last := path[len(path)-1]
		path = path[:len(path)-1]
		colors[last.vertex] = -1
		mark(last.vertex, last.color, -1)
		v, c, used = last.vertex, last.color+1, last.used
	}
	return colors, colorable, nil
}

// tally counts the neighbors of each vertex by color. A vertex has room for k colors, or for one more than it has
// neighbors if that is less, so the memory is proportional to the graph.
type tally struct {
	k     int
	start []int // the room of vertex v is colors[start[v]:start[v+1]], and so for counts
	// colors tells which color a count is of. A room for k colors has them in order instead.
	colors, counts []int32
}

func newTally(g *coloring) *tally {
	t := &tally{k: g.k, start: make([]int, len(g.neighbors)+1)}
	for v, us := range g.neighbors {
		t.start[v+1] = t.start[v] + min(g.k, len(us)+1)
	}
	size := t.start[len(g.neighbors)]
	t.colors, t.counts = make([]int32, size), make([]int32, size)
	return t
}

// count returns the number of neighbors of v with color c, to be read or changed before the next call.
func (t *tally) count(v, c int32) *int32 {
	from, to := t.start[v], t.start[v+1]
	if to-from == t.k {
		return &t.counts[from+int(c)]
	}
	unused := from // there is one, because fewer neighbors than places have colors
	for at := from; at < to; at++ {
		switch {
		case t.counts[at] == 0:
			unused = at
		case t.colors[at] == c:
			return &t.counts[at]
		}
	}
	t.colors[unused] = c
	return &t.counts[unused]
}

// first returns which of two vertices to color first: one without a color, then the one with fewer colors left, then
// the one with more neighbors, then the lower one.
func (g *coloring) first(a, b int32, colors, saturation []int32) int32 {
	switch {
	case colors[a] >= 0:
		return b
	case colors[b] >= 0:
		return a
	}
	if cmp.Or(cmp.Compare(saturation[a], saturation[b]), cmp.Compare(len(g.neighbors[a]), len(g.neighbors[b])), cmp.Compare(b, a)) > 0 {
		return a
	}
	return b
}

// reduceCost makes a coloring cheaper: it permutes the colors within each connected piece, then changes the colors of
// single vertices as long as that lowers the cost.
func (g *coloring) reduceCost(ctx context.Context, colors []int32, costs []float64) ([]int32, error) {
	colors = slices.Clone(colors)
	// The totals are what the vertices of one color would cost in each of the k, for the colors of one piece. Those of
	// color c start at begin[c], which is -1 if the piece does not have the color.
	var totals []float64
	begin, to, taken := make([]int, g.k), make([]int32, g.k), make([]bool, g.k)
	vertices := choose.All[int32](len(g.components))
	for _, piece := range connected.Parts(len(vertices), vertices, func(v int32) []int32 { return g.neighbors[v] }) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		totals = totals[:0]
		clear(taken)
		for c := range begin {
			begin[c] = -1
		}
		for _, v := range piece {
			from := &begin[colors[v]]
			if *from < 0 {
				*from, totals = len(totals), append(totals, make([]float64, g.k)...)
			}
			for c := range g.k {
				totals[*from+c] += costs[int(v)*g.k+c]
			}
		}
		untaken := 0
		for from, at := range begin {
			for taken[untaken] {
				untaken++
			}
			best := untaken // a color that is not in the piece takes the first one left
			if at >= 0 {
				for c, total := range totals[at : at+g.k] {
					if !taken[c] && total < totals[at+best] {
						best = c
					}
				}
			}
			to[from], taken[best] = int32(best), true
		}
		for _, v := range piece {
			colors[v] = to[colors[v]]
		}
	}
	for changed := true; changed; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed = false
		for v := range int32(len(colors)) {
			clear(taken)
			for _, u := range g.neighbors[v] {
				taken[colors[u]] = true
			}
			row := costs[int(v)*g.k : (int(v)+1)*g.k]
			for c, cost := range row {
				if !taken[c] && cost < row[colors[v]] {
					colors[v], changed = int32(c), true
				}
			}
		}
	}
	return colors, nil
}

// satisfied reports whether no two neighbors share a color.
func (g *coloring) satisfied(colors []int32) bool {
	for v, us := range g.neighbors {
		for _, u := range us {
			if colors[v] == colors[u] {
				return false
			}
		}
	}
	return true
}
