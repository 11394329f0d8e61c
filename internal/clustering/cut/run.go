package cut

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/spectral"
)

// spectralRun is one run of the family as a Method: a single step that finds the eigenvectors and makes
// labels of them. Its history is empty; the steps of the eigensolver are heard instead.
type method struct {
	*Problem
	family  *kernelkmeans.Family
	x       kernelkmeans.Executor
	o       clustering.Observer
	roots   []float64 // D^-1/2, where the matrix is normalised by it
	volume  float64   // sum of all degrees
	degrees []float64
	steps   *embedding.Steps
	floor   float64           // the least normalized cut, of ConstrainedSpectral
	joined  bool              // the components of the graph are connected by edges of our own
	found   clustering.Result // once the step is done
	stop    clustering.StopReason
}

// spectralFamily is a problem on its executor. There is one run: the restarts that a user asks for are
// those of k-means on the eigenvectors.
type family struct {
	clustering.OneByOne
	p      *Problem
	x      kernelkmeans.Executor
	kernel *kernelkmeans.Family
}

// RunSpectral runs a problem.
func Run(ctx context.Context, p *Problem, x kernelkmeans.Executor, o clustering.Observer) (*clustering.Result, error) {
	return clustering.Run(ctx, &family{p: p, x: x}, o)
}

// Notices implements clustering.Job.
func (f *family) Notices() []clustering.Notice { return f.p.Warnings }

// Begin implements clustering.Job.
func (f *family) Begin(ctx context.Context, o clustering.Observer) (_ clustering.Family, err error) {
	f.kernel, err = kernelkmeans.NewFamily(ctx, f.p.Problem, f.x, o)
	return f, err
}

// K implements clustering.Family.
func (f *family) K() int { return f.p.spec.K }

// Restarts implements clustering.Family.
func (f *family) Restarts() int { return 1 }

// MaxIterations implements clustering.Family.
func (f *family) MaxIterations() int { return 1 }

// Method implements clustering.Family.
func (f *family) Method(_ int, _ *clustering.Lane, o clustering.Observer) clustering.Method {
	return &method{Problem: f.p, family: f.kernel, x: f.x, o: o, steps: embedding.NewSteps(o), stop: clustering.StopConverged}
}

// Conclude implements clustering.Family.
func (f *family) Conclude(r *clustering.Result) {
	r.Warnings, r.ObjectiveName, r.Matrix = f.kernel.Notices(), f.p.Objective.String(), &f.p.Matrix
	r.Satisfaction = f.p.given.Satisfaction(r.Labels)
}

// Init implements clustering.Method.
func (r *method) Init(ctx context.Context) (clustering.Report, error) {
	if err := r.loadDegrees(ctx); err != nil {
		return clustering.Report{}, err
	}
	return clustering.Report{}, r.settleComponents(ctx)
}

// Step implements clustering.Method.
func (r *method) Step(ctx context.Context) (clustering.Report, error) {
	var result clustering.Result
	var err error
	switch r.options.Algorithm {
	case Spectral:
		err = r.leading(ctx, &result)
	case Learning:
		err = r.learning(ctx, &result)
	default:
		err = r.constrained(ctx, &result)
	}
	if err != nil {
		return clustering.Report{}, err
	}
	if result.Objective, err = r.family.ObjectiveOf(ctx, result.Labels); err != nil {
		return clustering.Report{}, err
	}
	if r.options.Algorithm == Constrained {
		r.warnCutsByChance(&result)
	}
	r.found = result
	return clustering.Report{Stop: r.stop}, nil
}

// Labels implements clustering.Method.
func (r *method) Labels() []int32 { return r.found.Labels }

// Value implements clustering.Method; there is no other run to compare it with.
func (r *method) Value() float64 { return 0 }

// Conclude implements clustering.Method.
func (r *method) Conclude(result *clustering.Result) {
	result.Objective, result.Eigen, result.Embedding = r.found.Objective, r.found.Eigen, r.found.Embedding
}

// loadDegrees takes the degrees of the affinity alone.
func (r *method) loadDegrees(ctx context.Context) (err error) {
	r.degrees = r.family.Weights()
	if r.Objective != kernelkmeans.ObjectiveNormalizedCut {
		if r.degrees, err = r.x.Degrees(ctx); err != nil {
			return err
		}
	}
	r.setDegrees()
	return nil
}

// setDegrees is what follows from the degrees.
func (r *method) setDegrees() {
	r.volume = partition.Sum(r.n, func(i int) float64 { return r.degrees[i] })
	r.roots = make([]float64, r.n)
	for i, d := range r.degrees {
		if r.Objective == kernelkmeans.ObjectiveNormalizedCut { // checked to be positive
			r.roots[i] = 1 / math.Sqrt(d)
		} else {
			r.roots[i] = 1
		}
	}
}

// affinity is D^-1/2 M D^-1/2.
func (r *method) affinity() spectral.Operator { return embedding.NewBalanced(r.x, r.roots) }

// solverOptions let the observer hear the search.
func (r *method) solverOptions() spectral.Options {
	return r.steps.Options(cmp.Or(r.options.Eigenvectors.Tolerance, embedding.DefaultTolerance))
}

// Pairs is how many eigenpairs a search looks for.
func (p *Problem) Pairs() int {
	if p.options.Algorithm != Constrained {
		return p.spec.K
	}
	return p.spec.K - 1 + furtherCuts
}

// AtOnce tells whether the problem is small enough to be solved from all its entries.
func (p *Problem) AtOnce() bool {
	return p.options.Algorithm == Constrained && p.n <= exactSpectral
}

// Columns is how many eigenvectors the labels are made of.
func (p *Problem) Columns() int {
	if p.options.Algorithm != Constrained {
		return p.spec.K
	}
	return p.spec.K - 1
}

// OwnEntries is how many entries the sparse matrix has that the coordinator multiplies with itself: beliefs,
// or what constraints change of affinities.
func (p *Problem) OwnEntries() int64 {
	switch p.options.Algorithm {
	case Constrained:
		return int64(p.beliefs.stored())
	case Learning:
		return 2 * int64(p.given.Len())
	}
	return 0
}

// leading is spectral clustering by the k leading eigenvectors (Kulis2009 4.3).
func (r *method) leading(ctx context.Context, result *clustering.Result) error {
	k := r.spec.K
	pairs, err := spectral.Largest(ctx, r.affinity(), k, r.Random(clustering.StreamEigen), r.solverOptions())
	if err != nil {
		return err
	}
	r.report(result, pairs, func(j int) float64 { return 1 - pairs.Values[j] })
	return r.byRows(ctx, result, pairs.Vectors)
}

// report tells of eigenpairs.
func (r *method) report(result *clustering.Result, pairs spectral.Eigen, cost func(j int) float64) {
	result.Eigen = &clustering.EigenReport{
		Volume: r.volume, Eigenvalues: pairs.Values, Residuals: pairs.Residuals, Products: pairs.Products,
	}
	for j := range pairs.Values {
		result.Eigen.Costs = append(result.Eigen.Costs, float64(r.volume*cost(j)))
	}
	r.warnUnconverged(pairs.Converged, pairs.Residuals)
}

func (r *method) warnUnconverged(converged bool, residuals []float64) {
	if !converged {
		r.stop = clustering.StopMaxProducts
		r.family.Warn(r.o, "NOT_CONVERGED", fmt.Sprintf(
			"the eigensolver stopped at its limit of products with a residual of %.3g; the vectors are the best so far", slices.Max(residuals)))
	}
}

// rowsSpec is what is asked of k-means on the rows of eigenvectors.
func (r *method) rowsSpec() clustering.Spec {
	e := r.options.Eigenvectors
	return clustering.Spec{K: r.spec.K, Seed: r.spec.Seed, Restarts: e.KmeansRestarts, MaxIterations: e.KmeansMaxIterations}
}

// byRows clusters the rows of some vectors by k-means.
func (r *method) byRows(ctx context.Context, result *clustering.Result, vectors [][]float64) (err error) {
	result.Embedding = embedding.New(vectors, r.Objective == kernelkmeans.ObjectiveNormalizedCut)
	result.Labels, err = embedding.Cluster(ctx, result.Embedding.Values, result.Embedding.Columns, r.rowsSpec())
	return err
}
