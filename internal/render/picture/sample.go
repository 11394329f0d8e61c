package picture

import "slices"

// evenSample is at most limit of the indices 0..n-1, evenly spaced, with the first and the last.
func evenSample(n, limit int) []int {
	if n <= limit || limit < 2 {
		chosen := make([]int, min(n, max(limit, 0)))
		for at := range chosen {
			chosen[at] = at
		}
		return chosen
	}
	chosen := make([]int, limit)
	for at := range chosen {
		chosen[at] = int(int64(at) * int64(n-1) / int64(limit-1))
	}
	return chosen
}

// pick returns the chosen elements.
func pick[T any](from []T, chosen []int) []T {
	picked := make([]T, len(chosen))
	for at, index := range chosen {
		picked[at] = from[index]
	}
	return picked
}

// samplePoints chooses at most limit points to draw (more only if more are required): the required
// ones, one of every cluster, and an even sample of the rest sorted by cluster, so that the sample has
// about the same shares of clusters as the data, in whatever order its rows are. The indices ascend.
func samplePoints(labels []int32, clusters, limit int, required []int32) []int {
	n := len(labels)
	if n <= limit {
		return evenSample(n, n)
	}
	byCluster := groupByLabel(labels, clusters)
	chosen := make([]bool, n)
	total := 0
	choose := func(i int32) {
		if !chosen[i] {
			chosen[i] = true
			total++
		}
	}
	for _, i := range required {
		choose(i)
	}
	for at, i := range byCluster {
		if at == 0 || labels[byCluster[at-1]] != labels[i] {
			choose(i)
		}
	}
	rest := slices.DeleteFunc(byCluster, func(i int32) bool { return chosen[i] })
	for _, at := range evenSample(len(rest), limit-total) {
		choose(rest[at])
	}
	indices := make([]int, 0, total)
	for i, yes := range chosen {
		if yes {
			indices = append(indices, i)
		}
	}
	return indices
}

// groupByLabel lists the points cluster by cluster.
func groupByLabel(labels []int32, clusters int) []int32 {
	start := make([]int, clusters+1)
	for _, label := range labels {
		start[label+1]++
	}
	for c := range clusters {
		start[c+1] += start[c]
	}
	grouped := make([]int32, len(labels))
	for i, label := range labels {
		grouped[start[label]] = int32(i)
		start[label]++
	}
	return grouped
}

// shuffleKey is the key by which points are sorted for drawing, the finalizer of splitmix64. If they were
// drawn in the order of the rows, the last cluster of sorted data would cover the others.
func shuffleKey(i int) uint64 {
	z := uint64(i) + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}
