package clustering

import (
	"cmp"
	"math"
	"slices"
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

// matchExactly is the Hungarian method: rows are matched one after the other along cheapest paths, by potentials under
// which all costs, the negative counts, are at least 0 and those of the matching 0.
func (o *overlap) matchExactly() []int32 {
	k := o.k
	const free = 0 // rows and columns count from 1
	rowPotential, columnPotential := make([]int64, k+1), make([]int64, k+1)
	rowOf, from := make([]int, k+1), make([]int, k+1)
	least, done := make([]int64, k+1), make([]bool, k+1)
	for row := 1; row <= k; row++ {
		for column := range least {
			least[column], done[column] = math.MaxInt64, false
		}
		rowOf[0] = row
		column := 0
		for rowOf[column] != free {
			done[column] = true
			at, step, next := rowOf[column], int64(math.MaxInt64), 0
			for c := 1; c <= k; c++ {
				if done[c] {
					continue
				}
				cost := -int64(o.dense[(at-1)*k+c-1]) - rowPotential[at] - columnPotential[c]
				if cost < least[c] {
					least[c], from[c] = cost, column
				}
				if least[c] < step {
					step, next = least[c], c
				}
			}
			for c := range done {
				if done[c] {
					rowPotential[rowOf[c]] += step
					columnPotential[c] -= step
				} else {
					least[c] -= step
				}
			}
			column = next
		}
		for column != 0 {
			rowOf[column] = rowOf[from[column]]
			column = from[column]
		}
	}
	partner := make([]int32, k)
	for column := 1; column <= k; column++ {
		partner[rowOf[column]-1] = int32(column - 1)
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
