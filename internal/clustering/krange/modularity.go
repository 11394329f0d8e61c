package krange

import "github.com/cleave-project/cleave/internal/data/dataset"

// Modularity is the share of a graph's weight within clusters beyond what it would be by chance (Newman and Girvan 2004):
//
//	sum_c (w_c / W - (d_c / W)^2)
//
// where w_c is the weight within a cluster, both directions, d_c the degrees of its vertices and W all degrees. It is 0 if
// W is not positive.
func Modularity(g *dataset.Graph, labels []int32, k int) float64 {
	within, degrees, total := make([]float64, k), make([]float64, k), 0.0
	for i, c := range labels {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			total += weights[at]
			if c < 0 {
				continue
			}
			degrees[c] += weights[at]
			if labels[j] == c {
				within[c] += weights[at]
			}
		}
	}
	if !(total > 0) {
		return 0
	}
	sum := 0.0
	for c := range k {
		share := degrees[c] / total
		sum += within[c]/total - float64(share*share)
	}
	return sum
}
