package clustering

import "iter"

// SomePairs are pairs of n places: all of them, or where there are more than about most, those of each place and the
// next few in a circle. Each comes once.
func SomePairs(n, most int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		reach := min(n/2, max(1, most/max(1, n))) // farther than half of the circle, pairs would be there twice
		for step := 1; step <= reach; step++ {
			places := n
			if 2*step == n {
				places = step // the other half of the circle has the same pairs
			}
			for at := range places {
				if !yield(at, (at+step)%n) {
					return
				}
			}
		}
	}
}
