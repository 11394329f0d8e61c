package kernel

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Gains returns, for each lane with stats and every row of the given tiles, the largest decrease of J from moving that
// row alone to another non-empty cluster. A negative gain means that J increases. If point i leaves c for d, then
//
//	J = const - sum_c Q_c/s_c   changes by   leaving - joining,
//	leaving = Q_c/s_c - (Q_c - 2 S_ic + M_ii)/(s_c - a_i) = (2 S_ic - M_ii - a_i Q_c/s_c) / (s_c - a_i)
//	joining = (Q_d + 2 S_id + M_ii)/(s_d + a_i) - Q_d/s_d = (2 S_id + M_ii - a_i Q_d/s_d) / (s_d + a_i)
//
// without shift, which cancels in the difference. A row that has no cluster, or is alone in its cluster, cannot move:
// its gain is -Inf.
func (s *Shard) Gains(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([][]float64, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	terms := make([]gainTerms, len(stats))
	for i := range stats {
		terms[i].set(stats[i])
	}
	return s.listsPerRow(ctx, tiles, len(stats), func(t *tile, i int, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		w.assignment = s.assignment(t, stats[i].Lane)
		dst = dst[:t.rows.Len()]
		t.sums.joining(dst, &terms[i], w)
		own := t.own[stats[i].Lane*t.rows.Len():]
		for r := range dst {
			dst[r] -= terms[i].leaving(w.own(r), own[r], t.diagonal[r], w.weights[r])
		}
		s.workspaces.GiveBack(w)
		return nil
	})
}

// gainTerms holds what Gains needs to know about the clusters of one lane.
type gainTerms struct {
	Shares
	count        []int32
	nonEmpty     []int32 // ordered by share, then by number
	least, heavy float64 // smallest and largest weight of a non-empty cluster
}

// set computes the terms of one lane. It keeps the slices of stats.
func (terms *gainTerms) set(stats ClusterStats) {
	*terms = gainTerms{Shares: Shares{Weight: stats.Weight, Share: make([]float64, len(stats.Weight))},
		count: stats.Count, least: math.Inf(1)}
	for c, weight := range stats.Weight {
		if stats.Count[c] == 0 {
			continue
		}
		terms.Share[c] = stats.SelfAffinity[c] / weight
		terms.least, terms.heavy = min(terms.least, weight), max(terms.heavy, weight)
		terms.nonEmpty = append(terms.nonEmpty, int32(c))
	}
	slices.SortFunc(terms.nonEmpty, func(a, b int32) int {
		return cmp.Or(cmp.Compare(terms.Share[a], terms.Share[b]), cmp.Compare(a, b))
	})
}

// leaving returns Leaving, or +Inf for a row that cannot move.
func (terms *gainTerms) leaving(c int32, sum, diagonal, a float64) float64 {
	if c < 0 || terms.count[c] < 2 {
		return math.Inf(1)
	}
	return terms.Leaving(c, sum, diagonal, a)
}

// Shares holds the weights s_c of clusters and their shares Q_c/s_c of the association.
type Shares struct{ Weight, Share []float64 }

// Leaving returns how much the association falls when a point of weight a leaves cluster c, where sum is S_ic. It
// returns +Inf if the point is, up to rounding, the whole cluster.
func (s *Shares) Leaving(c int32, sum, diagonal, a float64) float64 {
	rest := s.Weight[c] - a
	if !(rest > 0) {
		return math.Inf(1)
	}
	return (2*sum - diagonal - float64(a*s.Share[c])) / rest
}

// Joining returns how much the association rises when a point of weight a joins cluster c, where sum is S_ic.
func (s *Shares) Joining(c int32, sum, diagonal, a float64) float64 {
	return (2*sum + diagonal - float64(a*s.Share[c])) / (s.Weight[c] + a)
}

// mostWithout bounds what a point gains by joining a cluster that it has no affinity to and whose share is at least
// that of c. It rounds exactly as Joining does, so it bounds Joining to the last bit.
func (terms *gainTerms) mostWithout(c int32, diagonal, a float64) float64 {
	x := diagonal - float64(a*terms.Share[c])
	if x > 0 {
		return x / (terms.least + a)
	}
	return x / (terms.heavy + a)
}
