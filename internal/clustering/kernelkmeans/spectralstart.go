package kernelkmeans

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// startTolerance is the tolerance of residuals if eigenvectors are only a start.
const startTolerance = 1e-5

// spectralStart computes the first labels by k-means on the k leading eigenvectors of diag(a)^-1/2 M diag(a)^-1/2, the
// relaxation of the objective (Kulis2009 4.3). Small pieces of a graph, each of which would have its own eigenvector,
// are left out and get no label yet.
func (m *method) spectralStart(ctx context.Context) ([]int32, error) {
	factors := make([]float64, m.p.n)
	for i, a := range m.weights {
		if a > 0 { // else the point is isolated
			factors[i] = 1 / math.Sqrt(a)
		}
	}
	kept := m.largePieces()
	k := min(m.p.spec.K, kept.Size(m.p.n))
	if k == 0 {
		return clustering.Unassigned(m.p.n), nil
	}
	options := embedding.NewReporter(m.o).SolverOptions(startTolerance)
	pairs, err := eigen.Largest(ctx, kept.Restrict(embedding.NewScaled(m.Family.x, factors)), k, m.p.Random(clustering.StreamEigen), options)
	if err != nil {
		return nil, err
	}
	e := embedding.New(kept.Expand(pairs.Vectors), m.p.Objective == ObjectiveNormalizedCut)
	found, err := kept.Cluster(ctx, e.Values, e.Columns, clustering.Spec{K: k, Seed: m.p.spec.Seed})
	return found.Labels, err
}

// largePieces returns all points except isolated ones and those in small pieces of the graph.
func (m *method) largePieces() embedding.Subset {
	left := make([]bool, m.p.n)
	copy(left, m.isolated)
	if m.p.graph != nil {
		pieces := m.p.Pieces(m.constraints.Components())
		keep := pieces.Keep(m.p.spec.K)
		for i, c := range pieces.Of {
			left[i] = left[i] || !keep[c]
		}
	}
	return embedding.NewSubset(left)
}

// VectorsPerProduct returns how many vectors the matrix is multiplied with at a time.
func (p *Problem) VectorsPerProduct() int {
	if p.StartsSpectral() {
		return embedding.ProductsAtOnce
	}
	return 1
}
