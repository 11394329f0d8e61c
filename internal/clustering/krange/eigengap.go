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

// Eigengaps decide nothing, and so must not cost much: they are looked for in graphs of at most so many entries, if the vectors of
// the search hold at most so many numbers.
const (
	mostGapEntries = 1 << 23
	mostGapNumbers = 1 << 24 // 128 MiB
	gapTolerance   = 1e-5    // of eigenvalues, which are at most 1
)

// gapNumbers is how many numbers the search for the eigengaps up to k holds; 0: they are not looked for.
func gapNumbers(g *dataset.Graph, k int) int {
	numbers := g.N * eigen.SearchColumns(min(k+1, g.N), false)
	if g.N <= k || len(g.Weight) > mostGapEntries || numbers > mostGapNumbers {
		return 0
	}
	return numbers
}

// Eigengaps are lambda_k - lambda_k+1 for k from 0 on, of the eigenvalues lambda_1 >= lambda_2 >= ... of D^-1/2 A D^-1/2. In a graph
// of k separate parts the first k eigenvalues are 1 (von Luxburg 2007, section 8.3): where the parts are nearly separate, the gap
// after them is large. There are none if they are not found.
func Eigengaps(ctx context.Context, g *dataset.Graph, k, threads int, spec clustering.Spec) ([]float64, error) {
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

// normalized is D^-1/2 A D^-1/2, where the factors are the diagonal of D^-1/2.
type normalized struct {
	g       *dataset.Graph
	factors []float64
	threads int
}

// Rows implements spectral.Operator.
func (m normalized) Rows() int { return m.g.N }

// Multiply implements spectral.Operator. Every row is summed in the order of its entries, on whatever thread.
func (m normalized) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products := make([][]float64, len(columns))
	for v := range products {
		products[v] = make([]float64, m.g.N)
	}
	err := parallel.NewPool(m.threads).Run(ctx, m.threads, partition.TileCount(m.g.N), func(tile int) error {
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
