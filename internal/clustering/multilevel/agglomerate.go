package multilevel

import (
	"container/heap"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// agglomerate starts with every vertex as its own cluster and repeatedly merges the two clusters whose merger lowers Q
// least, until k are left. A merger lowers Q by
//
//	M_cc/s_c + M_dd/s_d - (M_cc + M_dd + 2 M_cd)/(s_c + s_d).
//
// Clusters that no entry connects are merged last, the lightest first.
func agglomerate(ctx context.Context, g *Graph, k int) ([]int32, error) {
	a := newAgglomeration(g)
	for left := g.Rows(); left > k; left-- {
		if err := ctx.Err(); err != nil { // the merger of a vertex with many neighbors takes a while
			return nil, err
		}
		m, found := a.cheapest()
		if !found {
			a.mergeLightest(left - k)
			break
		}
		a.merge(m.a, m.b)
	}
	return a.labels(), nil
}

// newAgglomeration makes every vertex a cluster of its own.
func newAgglomeration(g *Graph) *agglomeration {
	n := g.Rows()
	a := &agglomeration{
		within: make([]float64, n), mass: slices.Clone(g.Mass),
		between: make([]map[int32]float64, n), into: make([]int32, n), version: make([]int32, n),
	}
	for v := range int32(n) {
		a.into[v], a.within[v] = v, g.diagonal(v)
		neighbors, weights := g.row(v)
		a.between[v] = make(map[int32]float64, len(neighbors))
		for i, u := range neighbors {
			if u != v {
				a.between[v][u] = weights[i]
			}
		}
	}
	for v := range int32(n) {
		neighbors, weights := g.row(v)
		for i, u := range neighbors {
			if u > v {
				a.queue = append(a.queue, a.merger(v, u, weights[i]))
			}
		}
	}
	a.pairs = len(a.queue)
	heap.Init(&a.queue)
	return a
}

// agglomeration merges clusters, always the two whose merger costs least. within, mass and between describe each
// cluster that still exists. An entry of queue whose versions are not the current ones is out of date and skipped.
type agglomeration struct {
	within, mass []float64
	between      []map[int32]float64
	into         []int32 // the cluster that each was merged into; itself if it still exists
	version      []int32 // how often each cluster has changed; -1 once it is merged
	queue        mergers
	pairs        int // connected pairs of vertices, the most mergers that can be valid at a time
}

// merger is a possible merger of two clusters and its loss, valid while they have these versions.
type merger struct {
	loss               float64
	a, b               int32
	versionA, versionB int32
}

// merger returns the merger of two clusters with the given M_cd.
func (a *agglomeration) merger(c, d int32, between float64) merger {
	c, d = min(c, d), max(c, d)
	loss := a.within[c]/a.mass[c] + a.within[d]/a.mass[d] - (a.within[c]+a.within[d]+2*between)/(a.mass[c]+a.mass[d])
	return merger{loss, c, d, a.version[c], a.version[d]}
}

// outdated reports whether one of the clusters has changed since the merger was queued.
func (a *agglomeration) outdated(m merger) bool {
	return a.version[m.a] != m.versionA || a.version[m.b] != m.versionB
}

// cheapest returns the valid merger with the least loss, or false if none is left.
func (a *agglomeration) cheapest() (merger, bool) {
	for a.queue.Len() > 0 {
		if m := heap.Pop(&a.queue).(merger); !a.outdated(m) {
			return m, true
		}
	}
	return merger{}, false
}

// merge merges the cluster with fewer neighbors into the other. Every merger of a vertex with many neighbors queues all
// of them again, so outdated entries are removed once they are the majority.
func (a *agglomeration) merge(c, d int32) {
	if len(a.between[c]) < len(a.between[d]) {
		c, d = d, c
	}
	a.within[c] += a.within[d] + 2*a.between[c][d]
	a.mass[c] += a.mass[d]
	a.into[d] = c
	a.version[c]++
	a.version[d] = -1
	delete(a.between[c], d)
	for e, weight := range a.between[d] { // the order does not matter: each iteration changes only entries of e
		if e == c {
			continue
		}
		delete(a.between[e], d)
		a.between[c][e] += weight
		a.between[e][c] += weight
	}
	a.between[d] = nil
	ordered := a.queue
	for e, weight := range a.between[c] { // the order does not matter: the queue orders mergers completely
		a.queue = append(a.queue, a.merger(c, e, weight))
	}
	if len(a.queue) > 2*a.pairs {
		a.queue = slices.DeleteFunc(a.queue, a.outdated)
		heap.Init(&a.queue)
		return
	}
	for at := len(ordered); at < len(a.queue); at++ {
		ordered = a.queue[:at+1]
		heap.Fix(&ordered, at) // unlike heap.Push, it does not allocate
	}
}

// mergeLightest merges the lightest cluster into the next one, the given number of times. Of equals the first is
// lighter. The queue, which is empty, orders the clusters by mass.
func (a *agglomeration) mergeLightest(times int) {
	for c := range int32(len(a.into)) {
		if a.into[c] == c {
			a.queue = append(a.queue, merger{loss: a.mass[c], a: c})
		}
	}
	heap.Init(&a.queue)
	for range times {
		lightest := heap.Pop(&a.queue).(merger)
		next := &a.queue[0]
		a.into[lightest.a] = next.a
		next.loss += lightest.loss
		heap.Fix(&a.queue, 0)
	}
}

// labels numbers the clusters in the order of their lowest vertices. It shortens the paths in into.
func (a *agglomeration) labels() []int32 {
	labels, _ := choose.Numbers(nil, len(a.into), func(c int32) int32 {
		for a.into[c] != c {
			a.into[c] = a.into[a.into[c]]
			c = a.into[c]
		}
		return c
	})
	return labels
}

// mergers are ordered by their loss, then by their clusters.
type mergers []merger

func (m mergers) Len() int { return len(m) }
func (m mergers) Less(i, j int) bool {
	if m[i].loss != m[j].loss {
		return m[i].loss < m[j].loss
	}
	if m[i].a != m[j].a {
		return m[i].a < m[j].a
	}
	return m[i].b < m[j].b
}
func (m mergers) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *mergers) Push(x any)   { *m = append(*m, x.(merger)) }
func (m *mergers) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
