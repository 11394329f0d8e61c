package evaluate

import (
	"testing"

	"pgregory.net/rapid"
)

// No other match has more points in the cluster of their class.
func TestMatchIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := rapid.IntRange(1, 6).Draw(t, "clusters")
		counts := make([][]int64, rapid.IntRange(0, clusters).Draw(t, "classes"))
		for class := range counts {
			counts[class] = rapid.SliceOfN(rapid.Int64Range(0, 5), clusters, clusters).Draw(t, "counts")
		}
		match := Match(counts)
		got, used := int64(0), map[int]bool{}
		for class, cluster := range match {
			if used[cluster] {
				t.Fatalf("cluster %d has two classes: %v", cluster, match)
			}
			used[cluster] = true
			got += counts[class][cluster]
		}
		if best := bestMatch(counts, map[int]bool{}); len(match) != len(counts) || got != best {
			t.Fatalf("%v has %d of %d", match, got, best)
		}
	})
}

// bestMatch tries all.
func bestMatch(counts [][]int64, used map[int]bool) int64 {
	if len(counts) == 0 {
		return 0
	}
	best := int64(0)
	for cluster, count := range counts[0] {
		if !used[cluster] {
			used[cluster] = true
			best = max(best, count+bestMatch(counts[1:], used))
			used[cluster] = false
		}
	}
	return best
}
