package multilevel

import "math"

// labeling is labels of a graph with the sums of their clusters.
type labeling struct {
	g       *Graph
	k       int
	balance float64 // see value
	labels  []int32
	within  []float64 // M_cc
	mass    []float64 // s_c
	count   []int32
	shares  []float64 // of the clusters in the value
}

// newLabeling sums up the clusters of labels, which it keeps and changes. Balance is a share of the mean cluster's weight.
func newLabeling(g *Graph, k int, labels []int32, balance float64) *labeling {
	l := &labeling{g: g, k: k, labels: labels, within: make([]float64, k), mass: make([]float64, k), count: make([]int32, k)}
	for v, c := range labels {
		l.mass[c] += g.Mass[v]
		l.count[c]++
		l.within[c] += g.diagonal(int32(v))
		neighbors, weights := g.row(int32(v))
		for at, u := range neighbors {
			if labels[u] == c && int(u) != v {
				l.within[c] += weights[at]
			}
		}
	}
	if balance > 0 {
		l.balance = balance * g.mass() / float64(k)
	}
	l.shares = make([]float64, k)
	for c := range l.shares {
		l.shares[c] = l.share(l.within[c], l.mass[c])
	}
	return l
}

// value is Q less the penalties, or with a balance b
//
//	sum_c M_cc/s_c (1 - b/s_c) - penalties,
//
// which takes from a small cluster what it gains by being small: a few vertices that dangle from the rest by an edge are cut
// off at almost no cost, and Q alone would rather have many of these than clusters.
func (l *labeling) value() float64 {
	q := 0.0
	for c := range l.k {
		q += l.share(l.within[c], l.mass[c])
	}
	return q - l.g.Penalties.cost(l.labels)
}

// association is Q.
func (l *labeling) association() float64 {
	q := 0.0
	for c, mass := range l.mass {
		if mass > 0 {
			q += l.within[c] / mass
		}
	}
	return q
}

// share is the part that a cluster has in the value; that of an empty one is 0.
func (l *labeling) share(within, mass float64) float64 {
	switch {
	case mass <= 0:
		return 0
	case within <= 0: // such as of points that must not be together
		return within / mass
	}
	return within / mass * (1 - l.balance/mass)
}

// tolerance is the gain below which a move may be an effect of rounding.
func (l *labeling) tolerance() float64 {
	size := 0.0
	for c := range l.k {
		size += math.Abs(l.share(l.within[c], l.mass[c]))
	}
	return 1e-11 * size
}

// inside tells whether all neighbors of a vertex are in its cluster, and no penalties could speak for another one.
func (l *labeling) inside(v int32) bool {
	neighbors, _ := l.g.row(v)
	for _, u := range neighbors {
		if l.labels[u] != l.labels[v] {
			return false
		}
	}
	partners, _ := l.g.Penalties.of(v)
	return len(partners) == 0
}

// links are the sums of one vertex's entries with each cluster, M_vc, and of the penalties that it avoids by being there.
type links struct {
	sum     []float64
	avoided []float64
	touched []int32 // clusters of neighbors, in the order in which they are met
	met     []bool
}

func newLinks(k int) *links {
	return &links{sum: make([]float64, k), avoided: make([]float64, k), met: make([]bool, k)}
}

// of sums up a vertex's entries, without its own.
func (s *links) of(l *labeling, v int32) {
	for _, c := range s.touched {
		s.sum[c], s.avoided[c], s.met[c] = 0, 0, false
	}
	s.touched = s.touched[:0]
	neighbors, weights := l.g.row(v)
	for at, u := range neighbors {
		if u == v {
			continue
		}
		c := l.labels[u]
		if !s.met[c] {
			s.met[c] = true
			s.touched = append(s.touched, c)
		}
		s.sum[c] += weights[at]
	}
	partners, penalties := l.g.Penalties.of(v)
	for at, u := range partners {
		c := l.labels[u]
		if !s.met[c] {
			s.met[c] = true
			s.touched = append(s.touched, c)
		}
		s.avoided[c] += penalties[at]
	}
}

// best is the move of v that raises the value most, or lowers it least: to which of the clusters of its neighbors, and by how
// much. Clusters are
//
//	M_cc - 2 M_vc - M_vv over s_c - a_v   without v,   M_dd + 2 M_vd + M_vv over s_d + a_v   with it,
//
// where v is not among the columns of M_vc and M_vd. A cluster is never left empty; -1: there is no move.
func (l *labeling) best(v int32, s *links) (to int32, gain float64) {
	from := l.labels[v]
	if l.count[from] == 1 {
		return -1, 0
	}
	leaving := l.leaving(v, s.sum[from])
	to = -1
	for _, d := range s.touched {
		if d == from {
			continue
		}
		if g := leaving + l.joining(v, d, s.sum[d]) + s.avoided[d] - s.avoided[from]; to < 0 || g > gain || g == gain && d < to {
			to, gain = d, g
		}
	}
	return to, gain
}

// leaving is by how much the value grows when v leaves its cluster, with which its entries sum up to sum.
func (l *labeling) leaving(v int32, sum float64) float64 {
	from := l.labels[v]
	return l.share(l.within[from]-2*sum-l.g.diagonal(v), l.mass[from]-l.g.Mass[v]) - l.shares[from]
}

// joining is by how much it grows when v joins d.
func (l *labeling) joining(v, d int32, sum float64) float64 {
	return l.share(l.within[d]+2*sum+l.g.diagonal(v), l.mass[d]+l.g.Mass[v]) - l.shares[d]
}

// move gives v another cluster; the links are those of v.
func (l *labeling) move(v, to int32, s *links) {
	from, own, mass := l.labels[v], l.g.diagonal(v), l.g.Mass[v]
	l.within[from] -= 2*s.sum[from] + own
	l.within[to] += 2*s.sum[to] + own
	l.mass[from] -= mass
	l.mass[to] += mass
	l.count[from]--
	l.count[to]++
	l.labels[v] = to
	l.shares[from], l.shares[to] = l.share(l.within[from], l.mass[from]), l.share(l.within[to], l.mass[to])
}

// occupy gives every empty cluster the vertex by which the value falls least: merging vertices may have emptied it.
func (l *labeling) occupy(s *links) {
	for c := range int32(l.k) {
		if l.count[c] > 0 {
			continue
		}
		best, bestGain := int32(-1), 0.0
		for v := range int32(l.g.Rows()) {
			from := l.labels[v]
			if l.count[from] == 1 {
				continue
			}
			s.of(l, v)
			gain := l.leaving(v, s.sum[from]) + l.share(l.g.diagonal(v), l.g.Mass[v])
			if best < 0 || gain > bestGain {
				best, bestGain = v, gain
			}
		}
		if best >= 0 {
			s.of(l, best)
			l.move(best, c, s)
		}
	}
}
