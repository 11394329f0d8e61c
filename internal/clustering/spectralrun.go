package clustering

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/spectral"
)

// spectralRun is one run of the spectral family: eigenvectors by the executor's products, then labels
// from them.
type spectralRun struct {
	*SpectralProblem
	family  *kernelFamily
	o       Observer
	roots   []float64 // D^-1/2, where the matrix is normalised by it
	volume  float64   // sum of all degrees
	degrees []float64
	steps   *solverSteps
	floor   float64 // the least normalized cut, of ConstrainedSpectral
	joined  bool    // the components of the graph are connected by edges of our own
}

// RunSpectral finds the eigenvectors, makes labels of them and tells what they are worth. There are no
// iterations: the steps of the eigensolver are heard instead.
func RunSpectral(ctx context.Context, p *SpectralProblem, x Executor, o Observer) (*Result, error) {
	for _, notice := range p.Warnings {
		o.Notice(notice)
	}
	o.Phase(PhaseInitialise)
	family, err := newKernelFamily(ctx, p.Problem, x, o)
	if err != nil {
		return nil, err
	}
	r := &spectralRun{SpectralProblem: p, family: family, o: o, steps: newSolverSteps(o)}
	if err := r.loadDegrees(ctx); err != nil {
		return nil, err
	}
	if err := r.settleComponents(ctx); err != nil {
		return nil, err
	}
	o.Phase(PhaseIterate)
	result := &Result{StopReason: StopConverged, Rho: p.Rho()}
	switch p.options.Algorithm {
	case SpectralClustering:
		err = r.leading(ctx, result)
	case SpectralLearning:
		err = r.learning(ctx, result)
	default:
		err = r.constrained(ctx, result)
	}
	if err != nil {
		return nil, err
	}
	if result.Objective, err = r.worth(ctx, result.Labels); err != nil {
		return nil, err
	}
	result.ObjectiveName = p.Objective.String()
	result.Satisfaction = p.given.Satisfaction(result.Labels)
	result.ClusterSizes = make([]int, p.spec.K)
	for _, c := range result.Labels {
		result.ClusterSizes[c]++
	}
	if p.options.Algorithm == ConstrainedSpectral {
		r.warnOfChance(result)
	}
	result.Warnings = family.notices
	return result, nil
}

// loadDegrees takes the degrees of the affinity alone.
func (r *spectralRun) loadDegrees(ctx context.Context) (err error) {
	r.degrees = r.family.weights
	if r.Objective != ObjectiveNormalizedCut {
		if r.degrees, err = r.family.x.Degrees(ctx); err != nil {
			return err
		}
	}
	r.setDegrees()
	return nil
}

// setDegrees is what follows from the degrees.
func (r *spectralRun) setDegrees() {
	r.volume = partition.Sum(r.n, func(i int) float64 { return r.degrees[i] })
	r.roots = make([]float64, r.n)
	for i, d := range r.degrees {
		if r.Objective == ObjectiveNormalizedCut { // checked to be positive
			r.roots[i] = 1 / math.Sqrt(d)
		} else {
			r.roots[i] = 1
		}
	}
}

// affinity is D^-1/2 M D^-1/2.
func (r *spectralRun) affinity() spectral.Operator { return balanced{r.family.x, r.roots} }

// solverOptions let the observer hear the search.
func (r *spectralRun) solverOptions() spectral.Options {
	return r.steps.options(cmp.Or(r.options.Eigenvectors.Tolerance, EigenTolerance))
}

// Pairs is how many eigenpairs a search looks for.
func (p *SpectralProblem) Pairs() int {
	if p.options.Algorithm != ConstrainedSpectral {
		return p.spec.K
	}
	return p.spec.K - 1 + furtherCuts
}

// AtOnce tells whether the problem is small enough to be solved from all its entries.
func (p *SpectralProblem) AtOnce() bool {
	return p.options.Algorithm == ConstrainedSpectral && p.n <= exactSpectral
}

// Columns is how many eigenvectors the labels are made of.
func (p *SpectralProblem) Columns() int {
	if p.options.Algorithm != ConstrainedSpectral {
		return p.spec.K
	}
	return p.spec.K - 1
}

// OwnEntries is how many entries the sparse matrix has that the coordinator multiplies with itself: beliefs,
// or what constraints change of affinities.
func (p *SpectralProblem) OwnEntries() int64 {
	switch p.options.Algorithm {
	case ConstrainedSpectral:
		return int64(p.beliefs.stored())
	case SpectralLearning:
		return 2 * int64(p.given.Len())
	}
	return 0
}

// leading is spectral clustering by the k leading eigenvectors (Kulis2009 4.3).
func (r *spectralRun) leading(ctx context.Context, result *Result) error {
	k := r.spec.K
	pairs, err := spectral.Largest(ctx, r.affinity(), k, r.stream(streamEigen), r.solverOptions())
	if err != nil {
		return err
	}
	r.report(result, pairs, func(j int) float64 { return 1 - pairs.Values[j] })
	return r.byRows(ctx, result, pairs.Vectors)
}

// report tells of eigenpairs.
func (r *spectralRun) report(result *Result, pairs spectral.Eigen, cost func(j int) float64) {
	result.Spectral = &SpectralReport{
		Volume: r.volume, Eigenvalues: pairs.Values, Residuals: pairs.Residuals, Products: pairs.Products,
	}
	for j := range pairs.Values {
		result.Spectral.Costs = append(result.Spectral.Costs, float64(r.volume*cost(j)))
	}
	r.warnUnconverged(pairs.Converged, pairs.Residuals)
}

func (r *spectralRun) warnUnconverged(converged bool, residuals []float64) {
	if !converged {
		r.family.notice(r.o, "NOT_CONVERGED", fmt.Sprintf(
			"the eigensolver stopped at its limit of products with a residual of %.3g; the vectors are the best so far", slices.Max(residuals)))
	}
}

// rowsSpec is what is asked of k-means on the rows of eigenvectors.
func (r *spectralRun) rowsSpec() Spec {
	e := r.options.Eigenvectors
	return Spec{K: r.asked.K, Seed: r.asked.Seed, Restarts: e.KmeansRestarts, MaxIterations: e.KmeansMaxIterations}
}

// byRows clusters the rows of some vectors by k-means.
func (r *spectralRun) byRows(ctx context.Context, result *Result, vectors [][]float64) (err error) {
	result.Embedding = embed(vectors, r.Objective == ObjectiveNormalizedCut)
	result.Labels, err = kmeansOn(ctx, result.Embedding.Values, result.Embedding.Columns, r.rowsSpec())
	return err
}

// worth is the objective of labels, as kernel k-means reports it.
func (r *spectralRun) worth(ctx context.Context, labels []int32) (float64, error) {
	self, err := r.family.x.Load(ctx, labels)
	if err != nil {
		return 0, err
	}
	m := &kernelKmeans{kernelFamily: r.family}
	m.setLabels(labels, self)
	return m.objective(), nil
}
