package clustering

import "iter"

// SomePairs yields distinct pairs of indices below n: all of them or, if there are more than about most, the pairs of
// each index with the next few in circular order.
func SomePairs(n, most int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		reach := min(n/2, max(1, most/max(1, n))) // pairs farther apart than half the circle would repeat
		for step := 1; step <= reach; step++ {
			places := n
			if 2*step == n {
				places = step // the other half of the circle yields the same pairs
			}
			for at := range places {
				if !yield(at, (at+step)%n) {
					return
				}
			}
		}
	}
}
