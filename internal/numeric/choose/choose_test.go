package choose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is at the place is what sorting would put there, with no larger value before it and no smaller one after it.
func TestRankAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(0, 50).Draw(t, "value"))
		}), 1, 300).Draw(t, "values")
		place := rapid.IntRange(0, len(values)-1).Draw(t, "place")
		sorted := slices.Sorted(slices.Values(values))
		Rank(values, place)
		if values[place] != sorted[place] || slices.Max(values[:place+1]) != sorted[place] ||
			slices.Min(values[place:]) != sorted[place] {
			t.Fatalf("%v at %d, sorted %v", values, place, sorted)
		}
		if slices.Sort(values); !slices.Equal(values, sorted) {
			t.Fatal("the values are others")
		}
	})
}

// Chosen indices are ascending, in range, and as many as there can be.
func TestIndices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "n")
		count := rapid.IntRange(0, 300).Draw(t, "count")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for _, chosen := range [][]int{Even[int](n, count), Random[int](n, count, rng)} {
			if len(chosen) != min(n, count) {
				t.Fatalf("%d chosen", len(chosen))
			}
			for at, i := range chosen {
				if i < 0 || i >= n || (at > 0 && i <= chosen[at-1]) {
					t.Fatalf("chosen %v", chosen)
				}
			}
		}
	})
}

// Every index is drawn equally often.
func TestRandomIsUniform(t *testing.T) {
	const n, count, draws = 10, 3, 10_000
	rng := rand.New(rand.NewPCG(1, 2))
	drawn := make([]int, n)
	for range draws {
		for _, i := range Random[int](n, count, rng) {
			drawn[i]++
		}
	}
	for i, times := range drawn {
		if mean := draws * count / n; times < mean*9/10 || times > mean*11/10 {
			t.Errorf("%d was drawn %d times, expected about %d", i, times, mean)
		}
	}
}

func TestAt(t *testing.T) {
	if got := At([]string{"a", "b", "c"}, []int32{2, 0, 2}); !slices.Equal(got, []string{"c", "a", "c"}) {
		t.Error(got)
	}
	if got := At([]string(nil), []int{0}); got != nil {
		t.Error(got)
	}
}

func TestNumbers(t *testing.T) {
	group := func(i int32) int32 { return []int32{7, 3, 7, 9, 3}[i] }
	if got, count := Numbers(nil, 5, group); count != 3 || !slices.Equal(got, []int32{0, 1, 0, 2, 1}) {
		t.Errorf("%d groups with the numbers %v", count, got)
	}
	if got, count := Numbers([]int32{1, 3, 4}, 5, group); count != 2 || !slices.Equal(got, []int32{0, 1, 0}) {
		t.Errorf("of some vertices, %d groups with the numbers %v", count, got)
	}
}
