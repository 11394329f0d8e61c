package kernel

import (
	"context"
	"math"
)

// Fits returns, for each lane with stats, two lists of a value for every row of the given tiles: the distance d_ic of
// Kulis2009 (1) to its own cluster, and that to the nearest other cluster that is not empty. Infinite are the distance to its own
// of a row that has none, and to others where there are none.
func (s *Shard) Fits(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([][]float64, error) {
	if _, err := s.ready(numbers, step, stats); err != nil {
		return nil, err
	}
	s.workspaces.reset(s.operands.clusters())
	if s.source.graph != nil {
		for asked := range stats {
			s.terms[asked].sortBySquare()
		}
	}
	return s.listsPerRow(ctx, numbers, 2*len(stats), func(t *tile, list int, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		w, lane := s.workspaces.borrow(), stats[list/2].Lane
		w.assignment = s.assignment(t, lane)
		w.terms = &s.terms[list/2]
		dst = dst[:t.rows.Len()]
		if list%2 == 0 {
			w.ownParts(dst, t.own[lane*t.rows.Len():])
		} else {
			t.sums.otherParts(dst, w)
		}
		for r, weight := range w.weights[:len(dst)] {
			dst[r] += w.terms.shifted(t.diagonal[r], weight) / float64(weight*weight)
		}
		s.workspaces.giveBack(w)
		return nil
	})
}

// ownParts are the parts of the rows' own clusters, over which their rows sum up to sums.
func (a *assignment) ownParts(dst, sums []float64) {
	for r := range dst {
		dst[r] = math.Inf(1)
		if own := a.own(r); own >= 0 {
			dst[r] = a.part(r, own, sums[r])
		}
	}
}

// otherParts goes cluster by cluster, whose sums are contiguous.
func (s *denseSums) otherParts(dst []float64, w *workspace) {
	for r := range dst {
		dst[r] = math.Inf(1)
	}
	a := &w.assignment
	for _, c := range a.terms.nonEmpty {
		for r, sum := range s.values[int(a.first+c)*s.stride:][:len(dst)] {
			if a.own(r) != c {
				dst[r] = min(dst[r], a.terms.distancePart(c, sum, a.weights[r]))
			}
		}
	}
}

// otherParts compares a row's adjacent clusters and the nearest of all others, where S_ic = 0.
func (s *graphSums) otherParts(dst []float64, w *workspace) {
	a := &w.assignment
	for r := range dst {
		own, row, least := a.own(r), s.row(r), math.Inf(1)
		if own >= 0 {
			w.place[own] = 1
		}
		for at := range row {
			c := row[at].cluster
			if c != own {
				least = min(least, a.part(r, c, row[at].sum))
			}
			w.place[c] = 1
		}
		dst[r] = min(least, nearestOther(w.place, a.terms))
		if own >= 0 {
			w.place[own] = 0
		}
		for at := range row {
			w.place[row[at].cluster] = 0
		}
	}
}
