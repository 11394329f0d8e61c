package auto

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/metric"
)

// starts is how many times k-means++ starts a fit.
const starts = 10

// maxIterations of each fit.
const maxIterations = 100

// rows are the points of a space, on their executor.
type rows struct {
	problem *centroid.Problem // k-means on them, from which others are made
	x       centroid.Executor
	alone   *clustering.Result // the answer without constraints
}

// newKmeans is the spec of k-means from several starts.
func (r *run) newKmeans() clustering.Spec {
	return clustering.Spec{
		K: r.spec.K, Seed: r.spec.Seed, Restarts: starts, MaxIterations: maxIterations,
		Algorithm: &centroid.Options{Algorithm: centroid.Kmeans},
	}
}

// unit is the weight of a constraint: the mean distortion of the answer without constraints, so that a violated
// constraint costs about as much as a point in the wrong place.
func (w *rows) unit() float64 {
	return max(w.alone.Objective/float64(w.problem.Rows()), math.SmallestNonzeroFloat64*1e20)
}

// problems are PC-KMeans from several kinds of starts, the least objective of which wins.
func (r *run) problems(w *rows, use clustering.Use, shown []constraint.Constraint) ([]*centroid.Problem, error) {
	spec := clustering.Spec{K: r.spec.K, Seed: r.spec.Seed, MaxIterations: maxIterations, Constraints: shown}
	options := &centroid.Options{Algorithm: centroid.PCKmeans, Contract: use == clustering.UseHard}
	spec.Algorithm = options
	if use == clustering.UseMetric {
		*options = centroid.Options{Algorithm: centroid.MPCKmeans, Penalty: metric.Bilenko2004}
		spec.Entail = r.closureIsSmall(shown)
	}
	var problems []*centroid.Problem
	add := func(start clustering.Start, restarts int) error {
		spec.Start, spec.Restarts, spec.InitialLabels = start, restarts, nil
		if start == clustering.StartLabels {
			spec.InitialLabels = w.alone.Labels
		}
		p, err := w.problem.WithSpec(spec)
		problems = append(problems, p)
		return err
	}
	if err := add(clustering.StartKmeansPlusPlus, starts); err != nil || use == clustering.UseMetric {
		return problems, err
	}
	if use == clustering.UseHard {
		if err := add(clustering.StartNeighborhoods, 1); err != nil {
			return nil, err
		}
	}
	return problems, add(clustering.StartLabels, 1)
}

// best runs problems and returns the result of the least objective.
func best(ctx context.Context, problems []*centroid.Problem, x centroid.Executor) (*clustering.Result, error) {
	var least *clustering.Result
	for _, p := range problems {
		result, err := centroid.Run(ctx, p, x, clustering.NopObserver{})
		if err != nil {
			return nil, err
		}
		if least == nil || result.Objective < least.Objective {
			least = result
		}
	}
	return least, nil
}

// maxImplied is how many pairs the constraints may imply for MPC-KMeans to take them all.
const maxImplied = 200_000

// closureIsSmall tells whether the constraints imply few enough pairs to list them.
func (r *run) closureIsSmall(shown []constraint.Constraint) bool {
	set, err := constraint.NewSet(r.n, shown, constraint.UnitWeight)
	if err != nil {
		return false
	}
	return set.EntailedCount() < maxImplied
}

// local are the rows of eigenvectors, which are small enough for this process.
func (r *run) local(ctx context.Context, e *coordinates) (*rows, error) {
	points, err := dataset.NewPoints(len(e.kept), e.columns, e.values)
	if err != nil {
		return nil, err
	}
	w := &rows{}
	if w.problem, err = centroid.Prepare(points, r.newKmeans()); err != nil {
		return nil, err
	}
	if w.x, err = centroid.NewLocal(ctx, w.problem, points, r.threads); err != nil {
		return nil, err
	}
	w.alone, err = centroid.Run(ctx, w.problem, w.x, clustering.NopObserver{})
	return w, err
}
