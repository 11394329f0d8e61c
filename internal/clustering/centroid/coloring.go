package centroid

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
)

// colouring is the hard part of COP-KMeans: components of the must-links are vertices, cannot-links
// between them are edges, and clusters are colours. Vertices are the components that are not free: of at
// least two points, or cannot-linked to another.
type coloring struct {
	k          int
	components []int32   // ascending
	members    [][]int32 // of each, ascending
	neighbours [][]int32 // places in components, ascending
	points     []int32   // all members, ascending
	place      []int32   // of each of the points: its vertex
}

func newColoring(set *constraint.Set, k int) *coloring {
	g := &coloring{k: k}
	all := set.Components()
	linked := map[int32]bool{}
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			linked[all.Of(pair.I)], linked[all.Of(pair.J)] = true, true
		}
	}
	vertex := map[int32]int32{}
	for c := range int32(all.Count()) {
		if members := all.Members(c); len(members) > 1 || linked[c] {
			vertex[c] = int32(len(g.components))
			g.components = append(g.components, c)
			g.members = append(g.members, members)
			g.points = append(g.points, members...)
		}
	}
	slices.Sort(g.points)
	g.place = make([]int32, len(g.points))
	for at, point := range g.points {
		g.place[at] = vertex[all.Of(point)]
	}
	g.neighbours = make([][]int32, len(g.components))
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			a, b := vertex[all.Of(pair.I)], vertex[all.Of(pair.J)]
			g.neighbours[a], g.neighbours[b] = append(g.neighbours[a], b), append(g.neighbours[b], a)
		}
	}
	for v := range g.neighbours {
		slices.Sort(g.neighbours[v])
		g.neighbours[v] = slices.Compact(g.neighbours[v])
	}
	return g
}

func (g *coloring) adjacent(a, b int32) bool {
	_, found := slices.BinarySearch(g.neighbours[a], b)
	return found
}

// clique looks for more than k components that are all cannot-linked to each other: greedily from every
// vertex, so that it may miss one, but what it finds is one.
func (g *coloring) clique() []int32 {
	for v := range int32(len(g.neighbours)) {
		if len(g.neighbours[v]) < g.k {
			continue
		}
		clique := []int32{v}
		candidates := slices.Clone(g.neighbours[v])
		slices.SortStableFunc(candidates, func(a, b int32) int {
			return cmp.Compare(len(g.neighbours[b]), len(g.neighbours[a]))
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

// greedy gives the vertices, in an order, the cheapest colour that no neighbour has; it is not ok when
// a vertex finds none. Costs are k of each vertex.
func (g *coloring) greedy(order []int32, costs []float64) (colours []int32, ok bool) {
	colours = clustering.Unassigned(len(g.components))
	taken := make([]bool, g.k)
	for _, v := range order {
		clear(taken)
		for _, u := range g.neighbours[v] {
			if colours[u] >= 0 {
				taken[colours[u]] = true
			}
		}
		row := costs[int(v)*g.k : (int(v)+1)*g.k]
		for c, cost := range row {
			if !taken[c] && (colours[v] < 0 || cost < row[colours[v]]) {
				colours[v] = int32(c)
			}
		}
		if colours[v] < 0 {
			return nil, false
		}
	}
	return colours, true
}

// searchLimit is how many vertices the exact search may colour.
const searchLimit = 2_000_000

// verdict is what the exact search found.
type verdict uint8

const (
	colourable verdict = iota + 1
	uncolorable
	undecided
)

// exact looks for any colouring by exhaustive search, always at the vertex with the fewest colours left
// (DSATUR). Colours that no vertex has yet are all alike, so that only the first of them is tried.
func (g *coloring) exact(limit int) ([]int32, verdict) {
	n := len(g.components)
	colours := clustering.Unassigned(n)
	// blocked[v*k+c] counts the neighbours of v that have colour c; saturation is how many are not 0.
	blocked, saturation := make([]int32, n*g.k), make([]int32, n)
	set := func(v, c, sign int32) {
		for _, u := range g.neighbours[v] {
			count := &blocked[int(u)*g.k+int(c)]
			if *count == 0 || (*count == 1 && sign < 0) {
				saturation[u] += sign
			}
			*count += sign
		}
	}
	type choice struct {
		vertex, colour int32
		used           int32 // colours in use before it
	}
	var path []choice
	pick := func() int32 {
		best := int32(-1)
		for v := range int32(n) {
			if colours[v] < 0 && (best < 0 || saturation[v] > saturation[best] ||
				saturation[v] == saturation[best] && len(g.neighbours[v]) > len(g.neighbours[best])) {
				best = v
			}
		}
		return best
	}
	used, nodes := int32(0), 0
	v, c := pick(), int32(0)
	for v >= 0 {
		for c < int32(g.k) && c <= used && blocked[int(v)*g.k+int(c)] > 0 {
			c++
		}
		if c < int32(g.k) && c <= used {
			if nodes++; nodes > limit {
				return nil, undecided
			}
			path = append(path, choice{v, c, used})
			colours[v] = c
			set(v, c, 1)
			used = max(used, c+1)
			v, c = pick(), 0
			continue
		}
		if len(path) == 0 {
			return nil, uncolorable
		}
		last := path[len(path)-1]
		path = path[:len(path)-1]
		colours[last.vertex] = -1
		set(last.vertex, last.colour, -1)
		v, c, used = last.vertex, last.colour+1, last.used
	}
	return colours, colourable
}

// cheapen turns a colouring into a cheaper one: in each connected piece colours are exchanged for those
// that cost less, then vertices change one by one as long as that pays.
func (g *coloring) cheapen(colours []int32, costs []float64) []int32 {
	colours = slices.Clone(colours)
	for _, piece := range g.pieces() {
		total := make([]float64, g.k*g.k) // of all vertices of a colour, for every colour they could have
		for _, v := range piece {
			for c := range g.k {
				total[int(colours[v])*g.k+c] += costs[int(v)*g.k+c]
			}
		}
		to, taken := clustering.Unassigned(g.k), make([]bool, g.k)
		for from := range g.k {
			for c := range g.k {
				if !taken[c] && (to[from] < 0 || total[from*g.k+c] < total[from*g.k+int(to[from])]) {
					to[from] = int32(c)
				}
			}
			taken[to[from]] = true
		}
		for _, v := range piece {
			colours[v] = to[colours[v]]
		}
	}
	taken := make([]bool, g.k)
	for changed := true; changed; {
		changed = false
		for v := range int32(len(colours)) {
			clear(taken)
			for _, u := range g.neighbours[v] {
				taken[colours[u]] = true
			}
			row := costs[int(v)*g.k : (int(v)+1)*g.k]
			for c, cost := range row {
				if !taken[c] && cost < row[colours[v]] {
					colours[v], changed = int32(c), true
				}
			}
		}
	}
	return colours
}

// pieces are the connected vertices, each piece ascending.
func (g *coloring) pieces() [][]int32 {
	seen := make([]bool, len(g.components))
	var pieces [][]int32
	for v := range int32(len(seen)) {
		if seen[v] {
			continue
		}
		piece := []int32{v}
		seen[v] = true
		for at := 0; at < len(piece); at++ {
			for _, u := range g.neighbours[piece[at]] {
				if !seen[u] {
					seen[u] = true
					piece = append(piece, u)
				}
			}
		}
		slices.Sort(piece)
		pieces = append(pieces, piece)
	}
	return pieces
}

// satisfied tells whether no two neighbours share a colour.
func (g *coloring) satisfied(colours []int32) bool {
	for v, us := range g.neighbours {
		for _, u := range us {
			if colours[v] == colours[u] {
				return false
			}
		}
	}
	return true
}
