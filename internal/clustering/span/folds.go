package span

import (
	"math/rand/v2"
	"slices"
)

// newFolds deals m links out to min(5, m) folds, in random order.
func newFolds(m int, rng *rand.Rand) [][]int {
	folds := make([][]int, min(5, m))
	for at, which := range rng.Perm(m) {
		folds[at%len(folds)] = append(folds[at%len(folds)], which)
	}
	for _, fold := range folds {
		slices.Sort(fold)
	}
	return folds
}

// others are the links that are not in a fold.
func others(folds [][]int, but int) []int {
	var rest []int
	for at, fold := range folds {
		if at != but {
			rest = append(rest, fold...)
		}
	}
	slices.Sort(rest)
	return rest
}

// firstOnes are 0..m-1.
func firstOnes(m int) []int {
	all := make([]int, m)
	for at := range all {
		all[at] = at
	}
	return all
}
