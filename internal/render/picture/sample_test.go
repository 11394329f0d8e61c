package picture

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(-2, 300).Draw(t, "limit")
		chosen := evenSample(n, limit)
		if len(chosen) != min(n, max(limit, 0)) {
			t.Fatalf("%d chosen", len(chosen))
		}
		for at, i := range chosen {
			if i < 0 || i >= n || (at > 0 && i <= chosen[at-1]) {
				t.Fatalf("chosen %v", chosen)
			}
		}
		if len(chosen) > 1 && (chosen[0] != 0 || (limit >= 2 && chosen[len(chosen)-1] != n-1)) {
			t.Fatalf("the ends are missing: %v", chosen)
		}
	})
}

func TestSamplePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 6).Draw(t, "k")
		labels := rapid.SliceOfN(rapid.Int32Range(0, int32(k-1)), 1, 200).Draw(t, "labels")
		required := rapid.SliceOfN(rapid.Int32Range(0, int32(len(labels)-1)), 0, 10).Draw(t, "required")
		limit := rapid.IntRange(20, 120).Draw(t, "limit")
		chosen := samplePoints(labels, k, limit, required)
		if len(chosen) != min(len(labels), limit) {
			t.Fatalf("%d chosen of %d, limit %d", len(chosen), len(labels), limit)
		}
		if !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != len(chosen) {
			t.Fatalf("not ascending: %v", chosen)
		}
		for _, i := range required {
			if !slices.Contains(chosen, int(i)) {
				t.Fatalf("point %d is required", i)
			}
		}
		drawn := map[int32]bool{}
		for _, i := range chosen {
			drawn[labels[i]] = true
		}
		for _, label := range labels {
			if !drawn[label] {
				t.Fatalf("no point of cluster %d", label)
			}
		}
	})
}
