package spectral

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/partition"
)

// method is the one run of a problem: it computes the eigenvectors and derives labels from them. The observer receives
// the steps of the eigensolver instead of iterations.
type method struct {
	*Problem
	setup    *kernelkmeans.Setup
	x        kernelkmeans.Executor
	o        clustering.Observer
	roots    []float64 // D^-1/2 if the matrix is normalized by it, otherwise 1
	volume   float64   // sum of the degrees
	degrees  []float64
	reporter *embedding.Reporter
	leastCut float64          // lower bound of all normalized cuts, for Constrained
	joined   bool             // whether the components of the graph were connected
	kept     embedding.Subset // the included vertices
	stop     clustering.StopReason
}

// RunAndScore solves a problem. The result has the distances of all points to their clusters, in the embedding.
func (p *Problem) RunAndScore(ctx context.Context, x kernelkmeans.Executor,
	o clustering.Observer) (*clustering.Result, error) {
	return clustering.RunOnce(ctx, p.spec.K, p.Warnings, o,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			m, err := p.begin(ctx, x, o)
			if err != nil {
				return nil, err
			}
			return m.solve(ctx)
		})
}

// begin sets the operands of the executor, gets the degrees, and decides which vertices are included.
func (p *Problem) begin(ctx context.Context, x kernelkmeans.Executor, o clustering.Observer) (*method, error) {
	setup, err := kernelkmeans.NewSetup(ctx, p.Problem, x, o)
	if err != nil {
		return nil, err
	}
	m := &method{Problem: p, setup: setup, x: x, o: o, reporter: embedding.NewReporter(o),
		stop: clustering.StopConverged}
	if err := m.loadDegrees(ctx); err != nil {
		return nil, err
	}
	return m, m.handleComponents(ctx)
}

// solve returns the result of the run, without what clustering.RunOnce adds.
func (m *method) solve(ctx context.Context) (*clustering.Result, error) {
	m.o.Observe(clustering.PhaseIterate)
	result, err := m.cluster(ctx)
	if err != nil {
		return nil, err
	}
	m.attach(result.Labels)
	result.Objective, result.Kernel.PlainObjective, err = m.setup.ObjectiveOf(ctx, result.Labels)
	if err != nil {
		return nil, err
	}
	if m.Generalized() && result.Spectral.Eigen.Beta != nil {
		m.warnCutsByChance(result)
	}
	if result.Spectral.Embedding != nil && clustering.Complete(result.Labels) {
		own, next := result.Spectral.Embedding.Distances(result.Labels, m.spec.K, m.kept.Kept())
		result.SetDistances(clustering.MeasureEmbedding, own, next)
	}
	result.StopReason = m.stop
	result.ObjectiveName = m.Objective.String()
	result.Kernel.Matrix = &m.Matrix
	result.Units, result.Satisfaction = m.Units, m.given.Satisfaction(result.Labels)
	return result, nil
}

// cluster labels the included vertices by the algorithm of the options.
func (m *method) cluster(ctx context.Context) (*clustering.Result, error) {
	result := &clustering.Result{}
	switch m.options.Algorithm {
	case Spectral:
		return result, m.clusterLargest(ctx, result, m.affinity()) // the k leading eigenvectors, Kulis2009 4.3
	case Learning:
		return result, m.learning(ctx, result)
	case Constrained:
		switch {
		case m.rows() < m.spec.K:
			m.oneEach(result)
			return result, nil
		case m.choosesByPairs():
			return result, m.chosen(ctx, result)
		}
		return result, m.constrained(ctx, result)
	}
	return nil, fmt.Errorf("spectral: there is no algorithm %v", m.options.Algorithm)
}

func (m *method) warn(code, message string) {
	m.o.Observe(clustering.Notice{Code: code, Message: message})
}

// loadDegrees gets the degrees of the affinity, without constraints.
func (m *method) loadDegrees(ctx context.Context) (err error) {
	m.degrees = m.setup.Weights()
	if m.Objective != kernelkmeans.ObjectiveNormalizedCut {
		if m.degrees, err = m.x.Matrix().Degrees(ctx); err != nil {
			return err
		}
	}
	m.setDegrees()
	return nil
}

// setDegrees computes what follows from the degrees.
func (m *method) setDegrees() {
	m.volume = partition.SumByTile(m.n, func(i int) float64 {
		if m.kept.Left(int32(i)) {
			return 0
		}
		return m.degrees[i]
	})
	m.roots = make([]float64, m.n)
	for i, d := range m.degrees {
		switch {
		case m.kept.Left(int32(i)):
		case m.Objective != kernelkmeans.ObjectiveNormalizedCut:
			m.roots[i] = 1
		case d > 0: // else the vertex will be left out
			m.roots[i] = 1 / math.Sqrt(d)
		}
	}
}

// solverOptions returns the options of an eigensolver whose steps are reported.
func (m *method) solverOptions() eigen.Options {
	return m.reporter.SolverOptions(cmp.Or(m.options.Eigenvectors.Tolerance, embedding.DefaultTolerance))
}

// Eigenpairs returns how many eigenpairs a search looks for.
func (p *Problem) Eigenpairs() int {
	switch {
	case p.options.Algorithm != Constrained:
		return p.spec.K
	case p.choosesByPairs():
		return max(1, p.size()-1)
	}
	return p.spec.K - 1 + extraCuts
}

// Generalized reports whether the eigenproblem has two matrices.
func (p *Problem) Generalized() bool {
	return p.options.Algorithm == Constrained && !p.choosesByPairs()
}

// SolvesDense reports whether the problem is small enough to be solved from all its entries.
func (p *Problem) SolvesDense() bool {
	return p.Generalized() && p.n <= maxExactRows || p.asksPaper()
}

// EmbeddingColumns returns the maximum number of columns of the embedding.
func (p *Problem) EmbeddingColumns() int {
	if p.Generalized() {
		return p.spec.K - 1
	}
	return p.spec.K
}

// CoordinatorEntries returns the number of entries of the sparse matrix that the coordinator itself keeps and
// multiplies with: that of the beliefs, or of the corrections of constrained affinities.
func (p *Problem) CoordinatorEntries() int64 {
	switch p.options.Algorithm {
	case Constrained:
		if p.choosesByPairs() {
			return 2 * int64(len(p.pairs))
		}
		return int64(p.beliefs.stored())
	case Learning:
		return 2 * int64(p.given.Len())
	}
	return 0
}

// report adds the eigenpairs to the result.
func (m *method) report(result *clustering.Result, pairs eigen.Eigenpairs) {
	result.Spectral.Eigen = &clustering.EigenReport{
		Volume: m.FromUnit(m.volume), Eigenvalues: pairs.Values, Residuals: pairs.Residuals, Products: pairs.Products,
	}
	for _, value := range pairs.Values {
		result.Spectral.Eigen.Costs = append(result.Spectral.Eigen.Costs, m.FromUnit(m.volume*(1-value)))
	}
	m.warnUnconverged(pairs.Converged, pairs.Residuals)
}

func (m *method) warnUnconverged(converged bool, residuals []float64) {
	if !converged {
		m.stop = clustering.StopMaxProducts
		m.warn("NOT_CONVERGED", fmt.Sprintf(
			"the eigensolver stopped at its limit of products with a residual of %.3g; the vectors are the best so far",
			slices.Max(residuals)))
	}
}

// kmeansSpec returns the spec of k-means on the rows of eigenvectors.
func (m *method) kmeansSpec() clustering.Spec {
	e := m.options.Eigenvectors
	return clustering.Spec{K: m.spec.K, Seed: m.spec.Seed, Restarts: e.KmeansRestarts,
		MaxIterations: e.KmeansMaxIterations}
}

// clusterRows makes vectors an embedding and clusters its rows by k-means.
func (m *method) clusterRows(ctx context.Context, result *clustering.Result, vectors [][]float64) error {
	result.Spectral.Embedding = embedding.New(vectors, m.Objective == kernelkmeans.ObjectiveNormalizedCut)
	found, err := m.kept.Cluster(ctx, result.Spectral.Embedding.Values, result.Spectral.Embedding.Columns,
		m.kmeansSpec())
	result.Labels, result.Runs = found.Labels, found.Runs
	return err
}
