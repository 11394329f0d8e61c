package auto

import "github.com/cleave-project/cleave/internal/dataset"

// normalizedCut is the sum over clusters of the share of their edges' weight that leaves them.
func normalizedCut(g *dataset.Graph, labels []int32, k int) float64 {
	inside, total := make([]float64, k), make([]float64, k)
	for i, c := range labels {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			total[c] += weights[at]
			if labels[j] == c {
				inside[c] += weights[at]
			}
		}
	}
	cut := 0.0
	for c := range total {
		if total[c] > 0 {
			cut += 1 - inside[c]/total[c]
		}
	}
	return cut
}
