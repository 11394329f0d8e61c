package krange

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Eigengaps are reported but decide nothing, so they must be cheap. They are computed for graphs of at most
// maxGapEntries entries if the eigensolver holds at most maxGapNumbers numbers.
const (
	maxGapEntries = 1 << 23
	maxGapNumbers = 1 << 24 // 128 MiB
	gapTolerance  = 1e-5    // of eigenvalues, which are at most 1
)

// gapNumbers returns how many numbers the eigensolver holds for the eigengaps up to k, 0 if they are not computed.
func gapNumbers(g *dataset.Graph, k int) int {
	numbers := g.N * eigen.SearchColumns(min(k+1, g.N), false)
	if g.N <= k || len(g.Weight) > maxGapEntries || numbers > maxGapNumbers {
		return 0
	}
	return numbers
}

// eigengaps returns lambda_k - lambda_k+1 for every k from 0, of the eigenvalues lambda_1 >= lambda_2 >= ... of D^-1/2
// A D^-1/2. In a graph of k separate parts, the first k eigenvalues are 1 (von Luxburg 2007, section 8.3); if the parts
// are nearly separate, the gap after them is large. It returns nil if they are too expensive or the solver does not
// converge.
func eigengaps(ctx context.Context, g *dataset.Graph, k, threads int, spec clustering.Spec) ([]float64, error) {
	if gapNumbers(g, k) == 0 {
		return nil, nil
	}
	m := normalized{g, make([]float64, g.N), threads}
	for i := range g.N {
		_, weights := g.Row(i)
		degree := 0.0
		for _, w := range weights {
			degree += w
		}
		if degree > 0 {
			m.factors[i] = 1 / math.Sqrt(degree)
		}
	}
	found, err := eigen.Largest(ctx, m, k+1, spec.Random(clustering.StreamGaps), eigen.Options{Tolerance: gapTolerance, Scale: 1})
	if err != nil || !found.Converged {
		return nil, err
	}
	gaps := make([]float64, k+1)
	for at := 1; at <= k; at++ {
		gaps[at] = found.Values[at-1] - found.Values[at]
	}
	return gaps, nil
}

// normalized is the operator D^-1/2 A D^-1/2. Its factors are the diagonal of D^-1/2.
type normalized struct {
	g       *dataset.Graph
	factors []float64
	threads int
}

// Rows implements eigen.Operator.
func (m normalized) Rows() int { return m.g.N }

// Multiply implements eigen.Operator. It sums every row in the order of its entries, whatever the number of threads.
func (m normalized) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products := eigen.Columns(m.g.N, len(columns))
	err := parallel.Run(ctx, m.threads, partition.TileCount(m.g.N), func(tile int) error {
		rows := partition.Tile(m.g.N, tile)
		for i := rows.From; i < rows.To; i++ {
			neighbors, weights := m.g.Row(i)
			for v, x := range columns {
				sum := 0.0
				for at, j := range neighbors {
					sum += float64(float64(weights[at]*m.factors[j]) * x[j])
				}
				products[v][i] = float64(sum * m.factors[i])
			}
		}
		return nil
	})
	return products, err
}

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
