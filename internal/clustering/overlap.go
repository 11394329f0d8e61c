package clustering

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// maxExactMatch is the largest number of clusters for which an optimal matching is computed, in O(k^3) time. Beyond it,
// the matching is greedy.
const maxExactMatch = 512

// overlap counts the rows that each pair of clusters of two labelings has in common. Exactly one of dense and some is
// set.
type overlap struct {
	k     int
	dense []int32 // k x k counts, row by row
	some  map[[2]int32]int32
}

func newOverlap(k int) *overlap {
	if k > maxExactMatch {
		return &overlap{k: k, some: map[[2]int32]int32{}}
	}
	return &overlap{k: k, dense: make([]int32, k*k)}
}

// match returns, for each cluster of the first labeling, a different cluster of the second, so that matched clusters
// have as many rows in common as possible. A cluster without common rows may be left unmatched, as -1.
func (o *overlap) match() []int32 {
	if o.dense == nil {
		return o.matchGreedily()
	}
	// Usually no two clusters have their largest overlap with the same cluster. Then those overlaps are an optimal
	// matching.
	partner, taken := make([]int32, o.k), make([]bool, o.k)
	for a := range partner {
		row := o.dense[a*o.k : (a+1)*o.k]
		best := int32(0)
		for b, count := range row {
			if count > row[best] {
				best = int32(b)
			}
		}
		partner[a] = best
		if row[best] == 0 {
			partner[a] = -1
		} else if taken[best] {
			return o.matchExactly()
		} else {
			taken[best] = true
		}
	}
	return partner
}

// matchExactly returns the matching with the largest total overlap, in time O(k^3).
func (o *overlap) matchExactly() []int32 {
	counts := make([][]int64, o.k)
	for a := range counts {
		counts[a] = make([]int64, o.k)
		for b, count := range o.dense[a*o.k : (a+1)*o.k] {
			counts[a][b] = int64(count)
		}
	}
	partner := make([]int32, o.k)
	for a, b := range evaluate.Match(counts) {
		partner[a] = int32(b)
	}
	return partner
}

// matchGreedily matches the pair with the largest overlap, then the largest among the rest, and so on.
func (o *overlap) matchGreedily() []int32 {
	pairs := make([][2]int32, 0, len(o.some))
	for pair := range o.some {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(o.some[b], o.some[a]), slices.Compare(a[:], b[:]))
	})
	partner, taken := Unassigned(o.k), make([]bool, o.k)
	for _, pair := range pairs {
		if partner[pair[0]] < 0 && !taken[pair[1]] {
			partner[pair[0]], taken[pair[1]] = pair[1], true
		}
	}
	return partner
}
