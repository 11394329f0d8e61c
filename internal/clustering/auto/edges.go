package auto

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// normalizedCut returns the sum, over clusters, of the share of their edge weight that leaves them.
func normalizedCut(g *dataset.Graph, labels []int32, k int) float64 {
	within, total := edgesOfClusters(g, labels, k)
	cut := 0.0
	for c := range total {
		if total[c] > 0 {
			cut += 1 - within[c]/total[c]
		}
	}
	return cut
}

// loosestCluster returns the cluster that the largest share of its edge weight leaves.
func loosestCluster(g *dataset.Graph, labels []int32, k int) int32 {
	within, total := edgesOfClusters(g, labels, k)
	loosest := int32(0)
	least := math.Inf(1)
	for c := range int32(k) {
		if total[c] > 0 && within[c]/total[c] < least {
			loosest, least = c, within[c]/total[c]
		}
	}
	return loosest
}

// edgesOfClusters returns, for each cluster, the weight of the edges inside it and of all edges of its vertices.
// Labels of -1 are ignored.
func edgesOfClusters(g *dataset.Graph, labels []int32, k int) (within, total []float64) {
	within = make([]float64, k)
	total = make([]float64, k)
	for i, c := range labels {
		if c < 0 {
			continue
		}
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			total[c] += weights[at]
			if labels[j] == c {
				within[c] += weights[at]
			}
		}
	}
	return within, total
}

// edgeShares returns, for every vertex, the share of its edge weight that leads out of its own cluster, and out of the
// other cluster with the most of it. Loops do not count. Both are +Inf for a vertex without edges.
func edgeShares(g *dataset.Graph, labels []int32, k int) (own, next []float64) {
	own = make([]float64, g.N)
	next = make([]float64, g.N)
	to := make([]float64, k)
	for i := range g.N {
		total := 0.0
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			if int(j) != i {
				to[labels[j]] += weights[at]
				total += weights[at]
			}
		}
		most := 0.0
		for _, j := range neighbors {
			if labels[j] != labels[i] {
				most = max(most, to[labels[j]])
			}
		}
		own[i], next[i] = 1-to[labels[i]]/total, 1-most/total
		if !(total > 0) {
			own[i], next[i] = math.Inf(1), math.Inf(1)
		}
		if k == 1 {
			next[i] = math.Inf(1)
		}
		for _, j := range neighbors {
			to[labels[j]] = 0
		}
	}
	return own, next
}
