package multilevel

import "math/rand/v2"

// matching decides which vertices of a graph become one.
type matching struct {
	g        *Graph
	labels   []int32           // vertices of different ones are never merged; nil: any are
	apart    map[int32][]int32 // vertices that a vertex is never merged with
	heaviest float64           // what merged vertices may weigh
	largest  int32             // of how many vertices they may be made
	of       []int32           // the first vertex of each one's group; -1: it has none yet
	next     []int32           // the next vertex of the group, around in a circle
	size     []int32           // of the group, at its first vertex
	mass     []float64         // and what it weighs
}

// match merges vertices, in random order: a vertex joins the neighbor of the heaviest edge relative to the weights of the two
// (Dhillon2007 4.1),
//
//	M_ij / a_i + M_ij / a_j,
//
// with which a cluster would lose most by parting from it. Vertices whose neighbors are all taken are merged with others that have the
// same heaviest neighbor: around a hub most would stay alone otherwise. A merged vertex is made of at most the given number of vertices
// and weighs at most the given weight, so that none becomes a cluster before its time. It returns the number of each merged
// vertex, ascending with the lowest of its members, and how many there are. Where labels are given, only vertices of the same one
// are merged.
func match(g *Graph, labels []int32, largest int32, heaviest float64, rng *rand.Rand) (into []int32, count int) {
	n := g.Rows()
	m := &matching{
		g: g, labels: labels, apart: g.Apart.lists(), heaviest: heaviest, largest: largest,
		of: make([]int32, n), next: make([]int32, n), size: make([]int32, n), mass: append([]float64(nil), g.Mass...),
	}
	for v := range int32(n) {
		m.of[v], m.next[v], m.size[v] = -1, v, 1
	}
	order := rng.Perm(n)
	for _, v := range order {
		if m.of[v] < 0 {
			m.joinNeighbor(int32(v))
		}
	}
	m.joinAcross(order)
	return m.numbers()
}

// joinNeighbor merges a vertex with the best of its neighbors that there is room beside.
func (m *matching) joinNeighbor(v int32) {
	best, bestWeight := int32(-1), 0.0
	neighbors, weights := m.g.row(v)
	for at, u := range neighbors {
		if u == v {
			continue
		}
		if w := weights[at]/m.g.Mass[v] + weights[at]/m.g.Mass[u]; w > bestWeight && m.mayJoin(v, u) {
			best, bestWeight = u, w
		}
	}
	if best >= 0 {
		m.join(v, best)
	}
}

// joinAcross merges vertices that are still alone if they have the same heaviest neighbor.
func (m *matching) joinAcross(order []int) {
	waiting := map[int32]int32{} // by the neighbor: a vertex that waits for another
	for _, v := range order {
		v := int32(v)
		if m.of[v] >= 0 {
			continue
		}
		hub, hubWeight := int32(-1), 0.0
		neighbors, weights := m.g.row(v)
		for at, u := range neighbors {
			if w := weights[at] / m.g.Mass[u]; u != v && w > hubWeight {
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

// mayJoin tells whether a vertex that is alone may be merged with another, and all that are merged with that.
func (m *matching) mayJoin(v, u int32) bool {
	first := u
	if m.of[u] >= 0 {
		first = m.of[u]
	}
	if m.labels != nil && m.labels[v] != m.labels[u] || m.size[first] >= m.largest || m.mass[first]+m.mass[v] > m.heaviest {
		return false
	}
	for _, other := range m.apart[v] {
		if other == u || m.of[other] >= 0 && m.of[other] == first {
			return false
		}
	}
	return true
}

func (m *matching) join(v, u int32) {
	if m.of[u] < 0 {
		m.of[u] = u
	}
	first := m.of[u]
	m.of[v] = first
	m.size[first]++
	m.mass[first] += m.g.Mass[v]
	m.next[v], m.next[first] = m.next[first], v
}

// numbers gives merged vertices their numbers.
func (m *matching) numbers() (into []int32, count int) {
	into = make([]int32, len(m.of))
	for v := range into {
		into[v] = -1
	}
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
