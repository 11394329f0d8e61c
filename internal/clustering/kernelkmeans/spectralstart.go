package kernelkmeans

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/spectral"
)

// startTolerance is the tolerance of residuals where eigenvectors are only a start.
const startTolerance = 1e-5

// spectralStart makes first labels for kernel k-means by k-means on the k leading eigenvectors of
// diag(a)^-1/2 M diag(a)^-1/2, the relaxation of its objective (Kulis2009 4.3).
func (m *method) spectralStart(ctx context.Context) ([]int32, error) {
	factors := make([]float64, m.p.n)
	for i, a := range m.weights {
		factors[i] = 1 / math.Sqrt(a)
	}
	k := m.p.spec.K
	options := embedding.NewReporter(m.o).SolverOptions(startTolerance)
	pairs, err := spectral.Largest(ctx, embedding.NewScaled(m.Family.x, factors), k, m.p.Random(clustering.StreamEigen), options)
	if err != nil {
		return nil, err
	}
	e := embedding.New(pairs.Vectors, m.p.Objective == ObjectiveNormalizedCut)
	return embedding.Cluster(ctx, e.Values, e.Columns, clustering.Spec{K: k, Seed: m.p.spec.Seed})
}

// VectorsPerProduct is how many vectors the matrix is multiplied with at a time.
func (p *Problem) VectorsPerProduct() int {
	if p.StartsSpectral() {
		return embedding.ProductsAtOnce
	}
	return 1
}
