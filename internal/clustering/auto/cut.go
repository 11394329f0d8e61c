package auto

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// normalizedCut returns the sum, over clusters, of the share of their edge weight that leaves them.
func normalizedCut(g *dataset.Graph, labels []int32, k int) float64 {
	inside, total := edgesOfClusters(g, labels, k)
	cut := 0.0
	for c := range total {
		if total[c] > 0 {
			cut += 1 - inside[c]/total[c]
		}
	}
	return cut
}

// loosestCluster returns the cluster that the largest share of its edge weight leaves.
func loosestCluster(g *dataset.Graph, labels []int32, k int) int32 {
	inside, total := edgesOfClusters(g, labels, k)
	loosest, least := int32(0), math.Inf(1)
	for c := range int32(k) {
		if total[c] > 0 && inside[c]/total[c] < least {
			loosest, least = c, inside[c]/total[c]
		}
	}
	return loosest
}

// edgesOfClusters returns, for each cluster, the weight of the edges inside it and of all edges of its vertices. Labels
// of -1 are ignored.
func edgesOfClusters(g *dataset.Graph, labels []int32, k int) (inside, total []float64) {
	inside, total = make([]float64, k), make([]float64, k)
	for i, c := range labels {
		if c < 0 {
			continue
		}
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			total[c] += weights[at]
			if labels[j] == c {
				inside[c] += weights[at]
			}
		}
	}
	return inside, total
}
