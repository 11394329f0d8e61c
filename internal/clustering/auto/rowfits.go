package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// rows holds the points of a space on their executor.
type rows struct {
	problem       *kmeans.Problem // plain k-means; other problems are variants of it
	x             kmeans.Executor
	unconstrained *clustering.Result // the answer without constraints
}

// Fits of k-means. In a fold fewer starts suffice, because methods are only compared.
const (
	// defaultStarts is the number of k-means++ starts of a fit, foldStarts that in a fold. With 3 instead of 10,
	// answers without constraints are .01 worse.
	defaultStarts = 10
	foldStarts    = 3
	// hardWeight is the weight of a hard constraint in units of the mean distortion. No point is so far away that
	// violating a constraint pays off, but among constraints that cannot all hold, distortions still decide. Weights
	// from 16 to 1,000 make no difference; 1 is too weak.
	hardWeight = 64
	// maxImplied is the maximum number of implied pairs for which MPC-KMeans is given all of them.
	maxImplied = 200_000
	// extreme bounds meaningful weights and units of distances; its inverse is the lower bound.
	extreme = 1e50
)

// localRows opens coordinates in this process and clusters them without constraints.
func (ss *spaces) localRows(ctx context.Context, e *coordinates) (*rows, error) {
	points, err := dataset.NewPoints(len(e.kept), e.columns, e.values)
	if err != nil {
		return nil, err
	}
	w := &rows{}
	w.problem, err = kmeans.Prepare(points, ss.p.kmeansSpec(clustering.ScaleNone))
	if err != nil {
		return nil, err
	}
	w.x, err = kmeans.NewLocal(ctx, w.problem, points, ss.threads)
	if err != nil {
		return nil, err
	}
	w.unconstrained, err = kmeans.Run(ctx, w.problem, w.x, clustering.NopObserver{})
	return w, err
}

// unit returns the mean distortion of the answer without constraints, 1 if it is 0. A violated constraint of this
// weight costs as much as a misplaced point.
func (w *rows) unit() float64 {
	if unit := w.unconstrained.Objective / float64(w.problem.Rows()); unit > 0 {
		return unit
	}
	return 1
}

// inRange returns weight * unit, clamped so that computations with it, including learned metrics, do not overflow.
func inRange(weight, unit float64) float64 {
	return min(max(weight, 1/extreme), extreme) * min(max(unit, 1/extreme/extreme), extreme*extreme/hardWeight)
}

// learnable reports whether a metric can be learned: its values, which are about the inverse of the mean distortion,
// must not overflow.
func (w *rows) learnable() bool {
	return w.unconstrained.Objective > 1/extreme && w.unconstrained.Objective < extreme
}

// variants returns the problems of one fit, PC-KMeans or MPC-KMeans from several kinds of starts. The lowest objective
// wins.
func (f *fitter) variants(w *rows, t task, shown []constraint.Constraint) ([]*kmeans.Problem, error) {
	use := t.use
	spec := f.p.kmeansSpec(clustering.ScaleNone)
	options := &kmeans.Options{Algorithm: kmeans.PCKmeans, Contract: use == clustering.UseHard}
	weight := w.unit()
	switch use {
	case clustering.UseHard:
		weight *= hardWeight
	case clustering.UseMetric:
		*options = kmeans.Options{Algorithm: kmeans.MPCKmeans, Penalty: metric.Bilenko2004}
		weight = 1 // penalties are distances
		set, err := constraint.NewSet(w.problem.Rows(), shown, constraint.UnitWeight)
		if err != nil {
			return nil, err
		}
		spec.Supervision.Entail = set.EntailedCount() < maxImplied
	}
	spec.Algorithm = options
	for _, c := range shown {
		c.Weight = inRange(c.Weight, weight)
		spec.Supervision.Constraints = append(spec.Supervision.Constraints, c)
	}
	kinds := []clustering.Start{clustering.StartKmeansPlusPlus}
	switch use {
	case clustering.UseSoft:
		kinds = append(kinds, clustering.StartLabels)
	case clustering.UseHard:
		kinds = append(kinds, clustering.StartLabels, clustering.StartNeighborhoods)
	}
	if w.problem.RaceRows() > 0 { // the answer without constraints is already the best of many starts
		kinds = []clustering.Start{clustering.StartLabels}
	}
	var problems []*kmeans.Problem
	for _, start := range kinds {
		spec.Initialization.Start = start
		spec.Initialization.Labels = nil
		spec.Restarts = 1
		switch start {
		case clustering.StartKmeansPlusPlus:
			spec.Restarts = f.p.starts()
			if t.fold != heldout.None {
				spec.Restarts = min(spec.Restarts, foldStarts)
			}
			if t.brief {
				spec.Restarts = 1
			}
		case clustering.StartLabels:
			spec.Initialization.Labels = w.unconstrained.Labels
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

// leastOf runs several fits concurrently on the same rows and returns for each the result with the lowest objective.
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
	for i, problems := range fits {
		var runs []clustering.Labeling
		for _, result := range results[:len(problems)] {
			runs = append(runs, result.Runs...)
			if least[i] == nil || result.Objective < least[i].Objective {
				least[i] = result
			}
		}
		least[i].Runs = runs
		results = results[len(problems):]
	}
	return least, nil
}
