// Package choose chooses elements of lists: by rank, at random, evenly spaced, or by their places. It also numbers
// those that are chosen.
package choose

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Rank reorders numbers so that numbers[at] is what it would be in sorted order, with none larger before it and none
// smaller after it.
//
// It is quickselect; after too many steps it sorts the rest, so that the worst case stays n log n. It does not call
// RankFunc, because a call for each comparison takes three times as long.
func Rank(numbers []float64, at int) {
	for steps := maxSteps(len(numbers)); len(numbers) > sortBelow && steps > 0; steps-- {
		ends := [...]float64{numbers[0], numbers[len(numbers)/2], numbers[len(numbers)-1]}
		slices.Sort(ends[:])
		pivot, low, high := ends[1], 0, len(numbers)-1
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

// sortBelow is the largest number of items that are sorted instead of divided.
const sortBelow = 64

// maxSteps returns after how many divisions n items are sorted.
func maxSteps(n int) int { return 2 * bits.Len(uint(n)) }

// RankFunc is Rank for items in the order of compare.
func RankFunc[T any](items []T, at int, compare func(a, b T) int) {
	for steps := maxSteps(len(items)); len(items) > sortBelow && steps > 0; steps-- {
		ends := [...]T{items[0], items[len(items)/2], items[len(items)-1]}
		slices.SortFunc(ends[:], compare)
		pivot, low, high := ends[1], 0, len(items)-1
		for low <= high {
			for compare(items[low], pivot) < 0 {
				low++
			}
			for compare(items[high], pivot) > 0 {
				high--
			}
			if low <= high {
				items[low], items[high] = items[high], items[low]
				low++
				high--
			}
		}
		switch {
		case at <= high:
			items = items[:high+1]
		case at >= low:
			items, at = items[low:], at-low
		default:
			return
		}
	}
	slices.SortFunc(items, compare)
}

// Largest returns the index of the largest value, the first of equal ones.
func Largest(values []float64) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// Smallest returns the index of the smallest value, the first of equal ones.
func Smallest(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	return best
}

// All returns the indices 0 to n-1.
func All[I int | int32](n int) []I {
	indices := make([]I, n)
	for i := range indices {
		indices[i] = I(i)
	}
	return indices
}

// Random draws count of n indices without replacement and returns them in ascending order. It draws count random
// numbers, by Floyd's algorithm, or none if n <= count, and then returns all.
func Random[I int | int32](n, count int, rng *rand.Rand) []I {
	if n <= count {
		return All[I](n)
	}
	chosen := make(map[int]bool, count)
	sample := make([]I, 0, count)
	for limit := n - count; limit < n; limit++ {
		index := rng.IntN(limit + 1)
		if chosen[index] {
			index = limit
		}
		chosen[index] = true
		sample = append(sample, I(index))
	}
	slices.Sort(sample)
	return sample
}

// Even returns count of n indices, evenly spaced: i * n / count for i < count. It returns all if n <= count.
func Even[I int | int32](n, count int) []I {
	indices := make([]I, min(n, count))
	for i := range indices {
		indices[i] = I(int64(i) * int64(n) / int64(len(indices)))
	}
	return indices
}

// At returns the elements of a list at some indices. It returns nil if the list is nil.
func At[T any, I int | int32](list []T, indices []I) []T {
	if list == nil {
		return nil
	}
	chosen := make([]T, len(indices))
	for i, index := range indices {
		chosen[i] = list[index]
	}
	return chosen
}

// Numbers numbers the groups of the vertices in kept (nil means all n) from 0 in order of appearance. It returns the
// number of each vertex's group, and how many groups there are.
func Numbers(kept []int32, n int, group func(i int32) int32) (numbers []int32, count int) {
	numberOf := map[int32]int32{}
	if kept != nil {
		n = len(kept)
	}
	numbers = make([]int32, n)
	for at := range numbers {
		i := int32(at)
		if kept != nil {
			i = kept[at]
		}
		g := group(i)
		if _, known := numberOf[g]; !known {
			numberOf[g] = int32(len(numberOf))
		}
		numbers[at] = numberOf[g]
	}
	return numbers, len(numberOf)
}
