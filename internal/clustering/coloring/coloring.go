// Package coloring finds clusters for groups of rows that must be together, some of which must be apart. Groups are the
// vertices of a graph, two that must be apart are neighbors, and clusters are colors: neighbors need different colors.
// Some vertices may have a given color. Colors have costs, and cheap colorings are preferred.
//
// There are four steps, which callers combine. Clique may prove that there are too few colors. Greedy colors vertices
// in a given order. Repair changes a coloring in which neighbors share colors, and Search looks for any coloring of a
// part of the graph; both limit their work. Reduce makes a coloring cheaper.
package coloring

import (
	"cmp"
	"slices"
)

// None is the color of a vertex that has none.
const None = -1

// Cost returns what it costs to give a vertex a color. It depends on nothing else.
type Cost func(v, color int32) float64

// Graph is a graph to color with k colors.
type Graph struct {
	k         int
	neighbors [][]int32 // of each vertex, ascending
	given     []int32   // the color that a vertex must have, or None
}

// New returns the graph of n vertices with the given edges. An edge may occur several times, but none leads from a
// vertex to itself. The slice given holds the color that each vertex must have, or None; nil means that none is given.
func New(k, n int, edges [][2]int32, given []int32) *Graph {
	g := &Graph{k: k, neighbors: make([][]int32, n), given: given}
	if given == nil {
		g.given = slices.Repeat([]int32{None}, n)
	}
	for _, e := range edges {
		g.neighbors[e[0]] = append(g.neighbors[e[0]], e[1])
		g.neighbors[e[1]] = append(g.neighbors[e[1]], e[0])
	}
	for v := range g.neighbors {
		slices.Sort(g.neighbors[v])
		g.neighbors[v] = slices.Compact(g.neighbors[v])
	}
	return g
}

// Len returns the number of vertices.
func (g *Graph) Len() int { return len(g.neighbors) }

// Satisfied reports whether no two neighbors share a color.
func (g *Graph) Satisfied(colors []int32) bool {
	for v, us := range g.neighbors {
		for _, u := range us {
			if colors[v] == colors[u] {
				return false
			}
		}
	}
	return true
}

func (g *Graph) adjacent(a, b int32) bool {
	_, found := slices.BinarySearch(g.neighbors[a], b)
	return found
}

// Clique looks for more than k vertices that are all neighbors, greedily from every vertex. It may miss a clique, but
// what it returns is one.
func (g *Graph) Clique() []int32 {
	for v := range int32(g.Len()) {
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

// Greedy gives each vertex, in the given order, the cheapest color that no neighbor has. It returns false if no color
// is left for a vertex. It ignores given colors.
func (g *Graph) Greedy(order []int32, cost Cost) (colors []int32, ok bool) {
	colors = slices.Repeat([]int32{None}, g.Len())
	taken := make([]bool, g.k)
	for _, v := range order {
		g.mark(taken, v, colors)
		colors[v] = cheapest(taken, func(c int32) float64 { return cost(v, c) })
		if colors[v] == None {
			return nil, false
		}
	}
	return colors, true
}

// mark sets taken for the colors of the neighbors of a vertex.
func (g *Graph) mark(taken []bool, v int32, colors []int32) {
	clear(taken)
	for _, u := range g.neighbors[v] {
		if colors[u] != None {
			taken[colors[u]] = true
		}
	}
}

// cheapest returns the first of the cheapest colors that are not taken, or None if all are.
func cheapest(taken []bool, cost func(c int32) float64) int32 {
	best := int32(None)
	least := 0.0
	for c := range int32(len(taken)) {
		if taken[c] {
			continue
		}
		if own := cost(c); best == None || own < least {
			best = c
			least = own
		}
	}
	return best
}
