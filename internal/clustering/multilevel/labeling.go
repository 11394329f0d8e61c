package multilevel

import (
	"context"
	"math"
)

// labeling holds labels of a graph and the sums of their clusters.
type labeling struct {
	g       *Graph
	k       int
	balance float64 // see value
	labels  []int32
	within  []float64 // M_cc
	mass    []float64 // s_c
	count   []int32
	shares  []float64 // contribution of each cluster to the value
}

// newLabeling computes the sums of the clusters. It keeps the labels and changes them. balance is relative to the mean
// weight of a cluster.
func newLabeling(g *Graph, k int, labels []int32, balance float64) *labeling {
	l := &labeling{g: g, k: k, labels: labels, within: make([]float64, k), mass: make([]float64, k),
		count: make([]int32, k)}
	for v, c := range labels {
		l.mass[c] += g.Mass[v]
		l.count[c]++
		l.within[c] += g.diagonal(int32(v))
		neighbors, weights := g.row(int32(v))
		for i, u := range neighbors {
			if labels[u] == c && int(u) != v {
				l.within[c] += weights[i]
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

// value returns Q minus the penalties or, with a balance b,
//
//	sum_c M_cc/s_c (1 - b/s_c) - penalties.
//
// The balance removes the advantage of small clusters: cutting off a few vertices that hang on by one edge costs almost
// nothing, and Q alone would prefer many of these to real clusters.
func (l *labeling) value() float64 {
	q := 0.0
	for c := range l.k {
		q += l.share(l.within[c], l.mass[c])
	}
	return q - l.g.Penalties.cost(l.labels)
}

// association returns Q.
func (l *labeling) association() float64 {
	q := 0.0
	for c, mass := range l.mass {
		if mass > 0 {
			q += l.within[c] / mass
		}
	}
	return q
}

// share returns the contribution of a cluster to the value, 0 if it is empty.
func (l *labeling) share(within, mass float64) float64 {
	switch {
	case mass <= 0:
		return 0
	case within <= 0: // as with points that must not be together
		return within / mass
	}
	return within / mass * (1 - l.balance/mass)
}

// tolerance returns the gain up to which a move may be an effect of rounding.
func (l *labeling) tolerance() float64 {
	size := 0.0
	for c := range l.k {
		size += math.Abs(l.share(l.within[c], l.mass[c]))
	}
	return 1e-11 * size
}

// inside reports whether all neighbors of a vertex are in its cluster and it has no penalties, so that no move can
// gain.
func (l *labeling) inside(v int32) bool {
	neighbors, _ := l.g.row(v)
	for _, u := range neighbors {
		if l.labels[u] != l.labels[v] {
			return false
		}
	}
	partners, _ := l.g.Penalties.row(v)
	return len(partners) == 0
}

// links holds, for one vertex and each cluster, the sum of its entries, M_vc, and the penalties that it avoids there.
type links struct {
	sum     []float64
	avoided []float64
	touched []int32 // clusters of neighbors, in the order of the neighbors
	met     []bool
}

func newLinks(k int) *links {
	return &links{sum: make([]float64, k), avoided: make([]float64, k), met: make([]bool, k)}
}

// sumUp sets s to the links of a vertex, without its diagonal entry.
func (s *links) sumUp(l *labeling, v int32) {
	for _, c := range s.touched {
		s.sum[c], s.avoided[c], s.met[c] = 0, 0, false
	}
	s.touched = s.touched[:0]
	neighbors, weights := l.g.row(v)
	for i, u := range neighbors {
		if u == v {
			continue
		}
		s.sum[s.meet(l.labels[u])] += weights[i]
	}
	partners, penalties := l.g.Penalties.row(v)
	for i, u := range partners {
		s.avoided[s.meet(l.labels[u])] += penalties[i]
	}
}

// meet records that a neighbor is in cluster c, and returns c.
func (s *links) meet(c int32) int32 {
	if !s.met[c] {
		s.met[c] = true
		s.touched = append(s.touched, c)
	}
	return c
}

// best returns the move of v to a cluster of its neighbors that raises the value most, or lowers it least, and the
// gain. Clusters are
//
//	M_cc - 2 M_vc - M_vv over s_c - a_v   without v,   M_dd + 2 M_vd + M_vv over s_d + a_v   with it,
//
// where M_vc and M_vd exclude the column of v. A cluster is never left empty; to is -1 if there is no move.
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
		if g := leaving + l.joining(v, d, s.sum[d]) + s.avoided[d] - s.avoided[from]; to < 0 || g > gain ||
			g == gain && d < to {
			to, gain = d, g
		}
	}
	return to, gain
}

// leaving returns how much the value grows when v leaves its cluster, where sum is M_vc.
func (l *labeling) leaving(v int32, sum float64) float64 {
	from := l.labels[v]
	return l.share(l.within[from]-2*sum-l.g.diagonal(v), l.mass[from]-l.g.Mass[v]) - l.shares[from]
}

// joining returns how much the value grows when v joins d, where sum is M_vd.
func (l *labeling) joining(v, d int32, sum float64) float64 {
	return l.share(l.within[d]+2*sum+l.g.diagonal(v), l.mass[d]+l.g.Mass[v]) - l.shares[d]
}

// move moves v to another cluster. s must hold the links of v.
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

// occupy gives every empty cluster the vertex whose move lowers the value least. Clusters may be empty because their
// vertices were merged with others. It fails only if the context ends.
func (l *labeling) occupy(ctx context.Context, s *links) error {
	for c := range int32(l.k) {
		if l.count[c] > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		best, bestGain := int32(-1), 0.0
		for v := range int32(l.g.Rows()) {
			from := l.labels[v]
			if l.count[from] == 1 {
				continue
			}
			s.sumUp(l, v)
			gain := l.leaving(v, s.sum[from]) + l.share(l.g.diagonal(v), l.g.Mass[v])
			if best < 0 || gain > bestGain {
				best, bestGain = v, gain
			}
		}
		if best >= 0 {
			s.sumUp(l, best)
			l.move(best, c, s)
		}
	}
	return nil
}
