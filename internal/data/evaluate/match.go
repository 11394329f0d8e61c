package evaluate

import "slices"

// Match assigns a different cluster to every class, such that as many points as possible are in the cluster of their
// class. counts[class][cluster] is the number of points of a class in a cluster; there must be at least as many
// clusters as classes. The result is the cluster of each class, and always the same one of equally good assignments.
//
// It is the Hungarian method with potentials: classes are added one by one, each along the cheapest path of changes.
func Match(counts [][]int64) []int {
	if len(counts) == 0 {
		return nil
	}
	clusters := len(counts[0])
	ofClass := make([]int64, len(counts)+1) // potentials
	ofCluster := make([]int64, clusters+1)
	class := make([]int, clusters+1) // 1 + the class of each cluster, which are numbered from 1; 0 if none
	from := make([]int, clusters+1)
	for added := 1; added <= len(counts); added++ {
		const unreached = int64(1) << 62
		class[0] = added
		cost := slices.Repeat([]int64{unreached}, clusters+1)
		done := make([]bool, clusters+1)
		at := 0
		for class[at] != 0 {
			done[at] = true
			least, next := unreached, 0
			for cluster := 1; cluster <= clusters; cluster++ {
				if done[cluster] {
					continue
				}
				if c := -counts[class[at]-1][cluster-1] - ofClass[class[at]] - ofCluster[cluster]; c < cost[cluster] {
					cost[cluster], from[cluster] = c, at
				}
				if cost[cluster] < least {
					least, next = cost[cluster], cluster
				}
			}
			for cluster := range done {
				if done[cluster] {
					ofClass[class[cluster]] += least
					ofCluster[cluster] -= least
				} else {
					cost[cluster] -= least
				}
			}
			at = next
		}
		for at != 0 {
			class[at], at = class[from[at]], from[at]
		}
	}
	match := make([]int, len(counts))
	for cluster := 1; cluster <= clusters; cluster++ {
		if class[cluster] > 0 {
			match[class[cluster]-1] = cluster - 1
		}
	}
	return match
}
