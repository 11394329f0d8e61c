package krange

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Modularity returns the share of the weight of a graph that is within clusters, beyond what chance would give (Newman
// and Girvan 2004):
//
//	sum_c (w_c / W - (d_c / W)^2)
//
// where w_c is the weight within a cluster in both directions, d_c is the sum of the degrees of its vertices and W that
// of all degrees. It returns 0 if W is not positive.
func Modularity(g *dataset.Graph, labels []int32, k int) float64 {
	value := modularity(g, labels, k, 1)
	if math.IsNaN(value) { // sums overflowed, so all weights are taken times a power of two
		value = modularity(g, labels, k, 0x1p-64)
	}
	return value
}

// modularity returns the modularity of the graph whose weights are multiplied by unit, NaN if their sum overflows.
func modularity(g *dataset.Graph, labels []int32, k int, unit float64) float64 {
	within, degrees, total := make([]float64, k), make([]float64, k), 0.0
	for i, c := range labels {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			weight := float64(weights[at] * unit)
			total += weight
			if c < 0 {
				continue
			}
			degrees[c] += weight
			if labels[j] == c {
				within[c] += weight
			}
		}
	}
	switch {
	case math.IsInf(total, 1):
		return math.NaN()
	case !(total > 0):
		return 0
	}
	sum := 0.0
	for c := range k {
		share := degrees[c] / total
		sum += within[c]/total - float64(share*share)
	}
	return sum
}
