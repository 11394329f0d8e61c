package auto

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// normalizedCut is the sum over clusters of the share of their edges' weight that leaves them.
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

// loosestCluster is the one that the largest share of its edges' weight leaves.
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

// edgesOfClusters are the weights of the edges within each cluster, and of all that its vertices have. Vertices without a
// label, -1, have none.
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
