package clustering

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// maxExactMatch is up to how many clusters the best matching is found. It takes a time of k^3: beyond, the largest overlaps
// are taken first.
const maxExactMatch = 512

// overlap counts how many rows the clusters of two labelings have in common.
type overlap struct {
	k     int
	dense []int32 // k x k
	some  map[[2]int32]int32
}

func newOverlap(k int) *overlap {
	if k > maxExactMatch {
		return &overlap{k: k, some: map[[2]int32]int32{}}
	}
	return &overlap{k: k, dense: make([]int32, k*k)}
}

// match gives each cluster of the first labeling one of the second, each another, so that they have as many rows in
// common as possible. Clusters that have none in common may have no partner, -1.
func (o *overlap) match() []int32 {
	if o.dense == nil {
		return o.matchGreedily()
	}
	// Where the large overlaps do not compete, as mostly they do not, the largest of each is the best matching.
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

// matchExactly finds a best matching where overlaps compete.
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

// matchGreedily takes the largest overlap, then the largest of what is left.
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
