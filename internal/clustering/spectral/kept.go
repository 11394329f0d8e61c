package spectral

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// If vertices are left out, the eigenproblem is that of the others. Everything else, such as degrees, beliefs and
// embeddings, covers all vertices; rows that are left out are 0 there.

// setKept leaves out the marked vertices.
func (m *method) setKept(left []bool) {
	m.kept = embedding.NewSubset(left)
	m.setDegrees()
}

// rows returns the number of included vertices.
func (m *method) rows() int { return m.kept.Size(m.n) }

// affinity returns D^-1/2 M D^-1/2 of the included vertices.
func (m *method) affinity() eigen.Operator {
	return m.kept.Restrict(embedding.NewScaled(m.x.Matrix(), m.roots))
}

// clusterLargest clusters the rows of the k leading eigenvectors of a matrix on the included vertices. If those are
// fewer than k, so are the eigenvectors, and the remaining columns are 0.
func (m *method) clusterLargest(ctx context.Context, result *clustering.Result, op eigen.Operator) error {
	pairs := eigen.Eigenpairs{Converged: true}
	if count := min(m.spec.K, op.Rows()); count > 0 {
		var err error
		pairs, err = m.shareEigenpairs(m.given.Pairs(), count, func() (eigen.Eigenpairs, error) {
			return eigen.Largest(ctx, op, min(m.maxClusters(), op.Rows()), m.Source(clustering.StreamEigen),
				m.solverOptions())
		})
		if err != nil {
			return err
		}
	}
	m.report(result, pairs)
	vectors := m.kept.Expand(pairs.Vectors)
	for len(vectors) < m.spec.K {
		vectors = append(vectors, make([]float64, m.n))
	}
	return m.clusterRows(ctx, result, vectors)
}

// oneEach assigns each included vertex its own cluster, if there are fewer of them than clusters.
func (m *method) oneEach(result *clustering.Result) {
	columns := m.spec.K - 1
	result.Labels = clustering.Unassigned(m.n)
	for i := range m.rows() {
		result.Labels[m.kept.Row(i)] = int32(i)
	}
	result.Spectral.Embedding = &clustering.Embedding{Rows: m.n, Columns: columns, Values: make([]float64, m.n*columns)}
	result.Spectral.Eigen = &clustering.EigenReport{Volume: m.FromUnit(m.volume)}
}

// attach assigns clusters to the vertices that were left out.
func (m *method) attach(labels []int32) {
	if m.kept.All() {
		return
	}
	for i := range labels {
		if m.kept.Left(int32(i)) {
			labels[i] = -1
		}
	}
	component.Attach(labels, m.spec.K, m.Graph(), m.given)
}
