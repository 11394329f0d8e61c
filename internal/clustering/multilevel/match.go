package multilevel

import (
	"math/rand/v2"
	"slices"
)

// matching decides which vertices of a graph are merged.
type matching struct {
	g        *Graph
	labels   []int32           // vertices with different labels are never merged; nil if there are none
	apart    map[int32][]int32 // per vertex: those that it is never merged with
	heaviest float64           // maximum weight of a merged vertex
	largest  int32             // maximum number of vertices in a merged one
	group    []int32           // per vertex: the first vertex of its group; -1 if it has none yet
	next     []int32           // per vertex: the next one of its group, in a cycle
	size     []int32           // size of a group, stored at its first vertex
	mass     []float64         // weight of a group, stored at its first vertex
}

// match visits the vertices in random order and merges each with the neighbor of the heaviest edge relative to the
// weights of the two (Dhillon2007 4.1),
//
//	M_ij / a_i + M_ij / a_j,
//
// since a cluster would lose most by separating them. Vertices whose neighbors are all taken are merged with others
// that have the same heaviest neighbor; otherwise most vertices around a hub would stay alone. A merged vertex has at
// most `largest` vertices and weighs at most `heaviest`, so that none becomes a whole cluster. If labels are given,
// only vertices with the same label are merged. It returns the number of each vertex's merged vertex, numbered by their
// lowest members, and how many there are.
func match(g *Graph, labels []int32, largest int32, heaviest float64, rng *rand.Rand) (into []int32, count int) {
	n := g.Rows()
	m := &matching{
		g: g, labels: labels, apart: g.Apart.lists(), heaviest: heaviest, largest: largest,
		group: make([]int32, n), next: make([]int32, n), size: make([]int32, n), mass: slices.Clone(g.Mass),
	}
	for v := range int32(n) {
		m.group[v], m.next[v], m.size[v] = -1, v, 1
	}
	order := rng.Perm(n)
	for _, v := range order {
		if m.group[v] < 0 {
			m.joinNeighbor(int32(v))
		}
	}
	m.joinAcross(order)
	return m.numbers()
}

// joinNeighbor merges a vertex with its best neighbor whose group has room.
func (m *matching) joinNeighbor(v int32) {
	best, bestWeight := int32(-1), 0.0
	neighbors, weights := m.g.row(v)
	for i, u := range neighbors {
		if u == v {
			continue
		}
		if w := weights[i]/m.g.Mass[v] + weights[i]/m.g.Mass[u]; w > bestWeight && m.mayJoin(v, u) {
			best, bestWeight = u, w
		}
	}
	if best >= 0 {
		m.join(v, best)
	}
}

// joinAcross merges vertices that are still alone if they have the same heaviest neighbor.
func (m *matching) joinAcross(order []int) {
	waiting := map[int32]int32{} // per hub: a vertex that waits for another
	for _, v := range order {
		v := int32(v)
		if m.group[v] >= 0 {
			continue
		}
		hub, hubWeight := int32(-1), 0.0
		neighbors, weights := m.g.row(v)
		for i, u := range neighbors {
			if w := weights[i] / m.g.Mass[u]; u != v && w > hubWeight {
				hub, hubWeight = u, w
			}
		}
		if hub < 0 {
			continue
		}
		if u, waits := waiting[hub]; waits && m.mayJoin(v, u) {
			m.join(v, u)
			delete(waiting, hub)
		} else {
			waiting[hub] = v
		}
	}
}

// mayJoin reports whether v, which is alone, may join the group of u.
func (m *matching) mayJoin(v, u int32) bool {
	first := u
	if m.group[u] >= 0 {
		first = m.group[u]
	}
	if m.labels != nil && m.labels[v] != m.labels[u] || m.size[first] >= m.largest ||
		m.mass[first]+m.mass[v] > m.heaviest {
		return false
	}
	for _, other := range m.apart[v] {
		if other == u || m.group[other] >= 0 && m.group[other] == first {
			return false
		}
	}
	return true
}

// join adds v, which has no group, to that of u. Members of a group form a ring in next.
func (m *matching) join(v, u int32) {
	if m.group[u] < 0 {
		m.group[u] = u
	}
	first := m.group[u]
	m.group[v] = first
	m.size[first]++
	m.mass[first] += m.g.Mass[v]
	m.next[v], m.next[first] = m.next[first], v
}

// numbers returns the group of each vertex, numbered by their first vertices, and the number of groups.
func (m *matching) numbers() (into []int32, count int) {
	into = slices.Repeat([]int32{-1}, len(m.group))
	for v := range int32(len(into)) {
		if into[v] >= 0 {
			continue
		}
		into[v] = int32(count)
		for u := m.next[v]; u != v; u = m.next[u] {
			into[u] = int32(count)
		}
		count++
	}
	return into, count
}
