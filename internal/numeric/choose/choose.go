// Package choose chooses elements of lists: by rank, at random, evenly spaced, or by their places.
package choose

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Rank reorders numbers so that numbers[at] is what it would be in sorted order, with none larger before it and none
// smaller after it. It is quickselect; after too many steps it sorts the rest, so that the worst case stays n log n.
func Rank(numbers []float64, at int) {
	const short = 64
	for steps := 2 * bits.Len(uint(len(numbers))); len(numbers) > short && steps > 0; steps-- {
		pivot := medianOf(numbers[0], numbers[len(numbers)/2], numbers[len(numbers)-1])
		low, high := 0, len(numbers)-1
		for low <= high {
			for numbers[low] < pivot {
				low++
			}
			for numbers[high] > pivot {
				high--
			}
			if low <= high {
				numbers[low], numbers[high] = numbers[high], numbers[low]
				low++
				high--
			}
		}
		switch {
		case at <= high:
			numbers = numbers[:high+1]
		case at >= low:
			numbers, at = numbers[low:], at-low
		default:
			return
		}
	}
	slices.Sort(numbers)
}

func medianOf(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// Random draws count of n indices without replacement (Floyd's algorithm), ascending. It returns all if n <= count, and draws
// no random number then.
func Random(n, count int, rng *rand.Rand) []int {
	if n <= count {
		return Even[int](n, n)
	}
	chosen := make(map[int]bool, count)
	sample := make([]int, 0, count)
	for limit := n - count; limit < n; limit++ {
		index := rng.IntN(limit + 1)
		if chosen[index] {
			index = limit
		}
		chosen[index] = true
		sample = append(sample, index)
	}
	slices.Sort(sample)
	return sample
}

// Even returns count of n indices, evenly spaced: i * n / count for i < count. It returns all if n <= count.
func Even[I int | int32](n, count int) []I {
	indices := make([]I, min(n, count))
	for at := range indices {
		indices[at] = I(int64(at) * int64(n) / int64(len(indices)))
	}
	return indices
}

// At returns the elements of a list at some indices. It returns nil if the list is nil.
func At[T any, I int | int32](list []T, indices []I) []T {
	if list == nil {
		return nil
	}
	chosen := make([]T, len(indices))
	for at, index := range indices {
		chosen[at] = list[index]
	}
	return chosen
}
