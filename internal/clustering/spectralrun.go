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

// spectralRun is one run of the family as a Method: a single step that finds the eigenvectors and makes
// labels of them. Its history is empty; the steps of the eigensolver are heard instead.
type spectralRun struct {
	*SpectralProblem
	family  *kernelFamily
	x       Executor
	o       Observer
	roots   []float64 // D^-1/2, where the matrix is normalised by it
	volume  float64   // sum of all degrees
	degrees []float64
	steps   *solverSteps
	floor   float64 // the least normalized cut, of ConstrainedSpectral
	joined  bool    // the components of the graph are connected by edges of our own
	found   Result  // once the step is done
	stop    StopReason
}

// spectralFamily is a problem on its executor. There is one run: the restarts that a user asks for are
// those of k-means on the eigenvectors.
type spectralFamily struct {
	OneByOne
	p      *SpectralProblem
	x      Executor
	kernel *kernelFamily
}

// RunSpectral runs a problem.
func RunSpectral(ctx context.Context, p *SpectralProblem, x Executor, o Observer) (*Result, error) {
	return RunJob(ctx, &spectralFamily{p: p, x: x}, o)
}

// Notices implements clustering.Job.
func (f *spectralFamily) Notices() []Notice { return f.p.Warnings }

// Begin implements clustering.Job.
func (f *spectralFamily) Begin(ctx context.Context, o Observer) (_ Family, err error) {
	f.kernel, err = newKernelFamily(ctx, f.p.Problem, f.x, o)
	return f, err
}

// K implements clustering.Family.
func (f *spectralFamily) K() int { return f.p.spec.K }

// Restarts implements clustering.Family.
func (f *spectralFamily) Restarts() int { return 1 }

// MaxIterations implements clustering.Family.
func (f *spectralFamily) MaxIterations() int { return 1 }

// Method implements clustering.Family.
func (f *spectralFamily) Method(_ int, _ *Lane, o Observer) Method {
	return &spectralRun{SpectralProblem: f.p, family: f.kernel, x: f.x, o: o, steps: newSolverSteps(o), stop: StopConverged}
}

// Conclude implements clustering.Family.
func (f *spectralFamily) Conclude(r *Result) {
	r.Warnings, r.ObjectiveName, r.Rho = f.kernel.Notices(), f.p.Objective.String(), f.p.Rho()
	r.Satisfaction = f.p.given.Satisfaction(r.Labels)
}

// Init implements clustering.Method.
func (r *spectralRun) Init(ctx context.Context) (Report, error) {
	if err := r.loadDegrees(ctx); err != nil {
		return Report{}, err
	}
	return Report{}, r.settleComponents(ctx)
}

// Step implements clustering.Method.
func (r *spectralRun) Step(ctx context.Context) (Report, error) {
	var result Result
	var err error
	switch r.options.Algorithm {
	case SpectralClustering:
		err = r.leading(ctx, &result)
	case SpectralLearning:
		err = r.learning(ctx, &result)
	default:
		err = r.constrained(ctx, &result)
	}
	if err != nil {
		return Report{}, err
	}
	if result.Objective, err = r.family.ObjectiveOf(ctx, result.Labels); err != nil {
		return Report{}, err
	}
	if r.options.Algorithm == ConstrainedSpectral {
		r.warnOfChance(&result)
	}
	r.found = result
	return Report{Stop: r.stop}, nil
}

// Labels implements clustering.Method.
func (r *spectralRun) Labels() []int32 { return r.found.Labels }

// Value implements clustering.Method; there is no other run to compare it with.
func (r *spectralRun) Value() float64 { return 0 }

// Conclude implements clustering.Method.
func (r *spectralRun) Conclude(result *Result) {
	result.Objective, result.Spectral, result.Embedding = r.found.Objective, r.found.Spectral, r.found.Embedding
}

// loadDegrees takes the degrees of the affinity alone.
func (r *spectralRun) loadDegrees(ctx context.Context) (err error) {
	r.degrees = r.family.Weights()
	if r.Objective != ObjectiveNormalizedCut {
		if r.degrees, err = r.x.Degrees(ctx); err != nil {
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
func (r *spectralRun) affinity() spectral.Operator { return NewBalanced(r.x, r.roots) }

// solverOptions let the observer hear the search.
func (r *spectralRun) solverOptions() spectral.Options {
	return r.steps.options(cmp.Or(r.spec.Tolerance, EigenTolerance))
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
	pairs, err := spectral.Largest(ctx, r.affinity(), k, r.Random(StreamEigen), r.solverOptions())
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
		r.stop = StopMaxProducts
		r.family.Warn(r.o, "NOT_CONVERGED", fmt.Sprintf(
			"the eigensolver stopped at its limit of products with a residual of %.3g; the vectors are the best so far", slices.Max(residuals)))
	}
}

// byRows clusters the rows of some vectors by k-means.
func (r *spectralRun) byRows(ctx context.Context, result *Result, vectors [][]float64) (err error) {
	result.Embedding = embed(vectors, r.Objective == ObjectiveNormalizedCut)
	result.Labels, err = kmeansOn(ctx, result.Embedding.Values, result.Embedding.Columns, r.spec)
	return err
}
