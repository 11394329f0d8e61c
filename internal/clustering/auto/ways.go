package auto

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

const (
	// defaultStarts is how often a fit starts by k-means++, and foldStarts how often in a fold: comparing ways takes less
	// care than the answer.
	defaultStarts = 10
	foldStarts    = 3
	// hardWeight is the weight of a hard constraint, in mean distortions: no point is so far away that it would pay to
	// violate one for its sake, but among constraints that cannot all hold, distortions still decide.
	hardWeight = 64
	// maxImplied is how many pairs the constraints may imply for MPC-KMeans to be given all of them.
	maxImplied = 200_000
)

// rows are the points of a space on their executor.
type rows struct {
	problem *kmeans.Problem // k-means on them, of which other problems are variants
	x       kmeans.Executor
	alone   *clustering.Result // the answer without constraints
}

// starts is how often a fit starts by k-means++.
func (p *Problem) starts() int { return cmp.Or(p.spec.Restarts, defaultStarts) }

// kmeansSpec is the spec of k-means from several starts.
func (p *Problem) kmeansSpec(scale clustering.Scale) clustering.Spec {
	return clustering.Spec{
		K: p.spec.K, Seed: p.spec.Seed, Restarts: p.starts(), MaxIterations: p.spec.MaxIterations, Tolerance: p.spec.Tolerance, Scale: scale,
		Race:      p.spec.Restarts == 0,
		Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
	}
}

// localRows are the points of coordinates, which are small enough for this process, with their answer without
// constraints.
func (r *run) localRows(ctx context.Context, e *coordinates) (*rows, error) {
	points, err := dataset.NewPoints(len(e.kept), e.columns, e.values)
	if err != nil {
		return nil, err
	}
	w := &rows{}
	if w.problem, err = kmeans.Prepare(points, r.kmeansSpec(clustering.ScaleNone)); err != nil {
		return nil, err
	}
	if w.x, err = kmeans.NewLocal(ctx, w.problem, points, r.threads); err != nil {
		return nil, err
	}
	w.alone, err = kmeans.Run(ctx, w.problem, w.x, clustering.NopObserver{})
	return w, err
}

// unit is the mean distortion of the answer without constraints: a violated constraint of this weight costs as much as
// a point in the wrong place. Where there is none, because points coincide, any weight does.
func (w *rows) unit() float64 {
	if unit := w.alone.Objective / float64(w.problem.Rows()); unit > 0 {
		return unit
	}
	return 1
}

// extreme is beyond what weights and units are, or below its inverse, if they mean anything.
const extreme = 1e50

// inRange keeps weights in any unit so that they, and metrics that are learned with them, can be computed with.
func inRange(weight, unit float64) float64 {
	return min(max(weight, 1/extreme), extreme) * min(max(unit, 1/extreme/extreme), extreme*extreme/hardWeight)
}

// learnable tells whether the values of a metric, which are about the inverse of the mean distortion, can be computed
// with.
func (w *rows) learnable() bool { return w.alone.Objective > 1/extreme && w.alone.Objective < extreme }

// variants are the problems of one fit: PC-KMeans, or MPC-KMeans, from several kinds of starts. The least objective
// wins.
func (r *run) variants(w *rows, t task, shown []constraint.Constraint) ([]*kmeans.Problem, error) {
	use := t.use
	spec := r.kmeansSpec(clustering.ScaleNone)
	options := &kmeans.Options{Algorithm: kmeans.PCKmeans, Contract: use == clustering.UseHard}
	weight := w.unit()
	switch use {
	case clustering.UseHard:
		weight *= hardWeight
	case clustering.UseMetric:
		*options = kmeans.Options{Algorithm: kmeans.MPCKmeans, Penalty: metric.Bilenko2004}
		weight = 1 // the penalties are distances
		set, err := constraint.NewSet(w.problem.Rows(), shown, constraint.UnitWeight)
		if err != nil {
			return nil, err
		}
		spec.Entail = set.EntailedCount() < maxImplied
	}
	spec.Algorithm = options
	for _, c := range shown {
		c.Weight = inRange(c.Weight, weight)
		spec.Constraints = append(spec.Constraints, c)
	}
	kinds := []clustering.Start{clustering.StartKmeansPlusPlus}
	switch use {
	case clustering.UseSoft:
		kinds = append(kinds, clustering.StartLabels)
	case clustering.UseHard:
		kinds = append(kinds, clustering.StartLabels, clustering.StartNeighborhoods)
	}
	if w.problem.FromSample { // then the answer without constraints is the best of many starts already
		kinds = []clustering.Start{clustering.StartLabels}
	}
	var problems []*kmeans.Problem
	for _, start := range kinds {
		spec.Start, spec.Restarts, spec.InitialLabels = start, 1, nil
		switch start {
		case clustering.StartKmeansPlusPlus:
			spec.Restarts = r.starts()
			if t.fold != heldout.None {
				spec.Restarts = min(spec.Restarts, foldStarts)
			}
			if t.brief {
				spec.Restarts = 1
			}
		case clustering.StartLabels:
			spec.InitialLabels = w.alone.Labels
		}
		p, err := w.problem.WithSpec(spec)
		if err != nil {
			return nil, err
		}
		p.OnlyBest = t.fold != heldout.None
		problems = append(problems, p)
	}
	return problems, nil
}

// leastOf runs several fits on the same rows, all starts of all of them side by side, and returns the result of the
// least objective for each.
func leastOf(ctx context.Context, w *rows, fits [][]*kmeans.Problem) ([]*clustering.Result, error) {
	var all []*kmeans.Problem
	for _, problems := range fits {
		all = append(all, problems...)
	}
	results, err := kmeans.RunAll(ctx, all, w.x, func(int) clustering.Observer { return clustering.NopObserver{} })
	if err != nil {
		return nil, err
	}
	least := make([]*clustering.Result, len(fits))
	for at, problems := range fits {
		var runs []clustering.Labeling
		for _, result := range results[:len(problems)] {
			runs = append(runs, result.Runs...)
			if least[at] == nil || result.Objective < least[at].Objective {
				least[at] = result
			}
		}
		least[at].Runs = runs
		results = results[len(problems):]
	}
	return least, nil
}
