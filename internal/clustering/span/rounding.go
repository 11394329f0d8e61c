package span

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
)

// rounding turns coordinates into labels. Several starts of k-means, which ignores the pairs, are ranked by their
// inertia plus the weights of violated pairs; PC-KMeans, which has that objective, improves the best.
type rounding struct {
	k                 int
	starts            int
	improved          int // how many of the best starts PC-KMeans improves
	improveIterations int // of PC-KMeans
	startIterations   int // of k-means; 0 means embedding.DefaultIterations
	seed              uint64
	threads           int
}

// rounded is the result of k-means on rows of coordinates.
type rounded struct {
	labels    []int32
	objective float64
}

// run labels the rows of coordinates. The points of pairs are row numbers. It also returns the final labels of all
// starts.
func (r rounding) run(ctx context.Context, rows *clustering.Embedding, pairs []constraint.Pair) (labels []int32, runs []clustering.Labeling, err error) {
	points, err := dataset.NewPoints(rows.Rows, rows.Columns, rows.Values)
	if err != nil {
		return nil, nil, err
	}
	var found []rounded
	for start := range r.starts {
		one, err := r.cluster(ctx, points, clustering.Spec{
			Seed: r.seed + uint64(start), MaxIterations: cmp.Or(r.startIterations, embedding.DefaultIterations), Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
		})
		if err != nil {
			return nil, nil, err
		}
		for _, p := range pairs {
			if p.Violates(one.labels) {
				one.objective += p.Weight
			}
		}
		found = append(found, one)
	}
	byObjective := func(a, b rounded) int { return cmp.Compare(a.objective, b.objective) }
	slices.SortStableFunc(found, byObjective)
	best := found[:min(r.improved, len(found))]
	links := make([]constraint.Constraint, len(pairs))
	for i, p := range pairs {
		links[i] = p.Constraint()
	}
	for i, one := range best {
		best[i], err = r.cluster(ctx, points, clustering.Spec{
			Seed: r.seed, MaxIterations: r.improveIterations, Start: clustering.StartLabels, InitialLabels: one.labels, Constraints: links,
			Algorithm: &kmeans.Options{Algorithm: kmeans.PCKmeans, Inference: inference.ICM},
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, one := range found {
		runs = append(runs, clustering.NewLabeling(one.labels, r.k))
	}
	return slices.MinFunc(best, byObjective).labels, runs, nil
}

// cluster runs k-means on rows of coordinates.
func (r rounding) cluster(ctx context.Context, points *dataset.Points, spec clustering.Spec) (rounded, error) {
	spec.K = r.k
	result, err := kmeans.Solve(ctx, points, spec, r.threads)
	if err != nil {
		return rounded{}, err
	}
	return rounded{result.Labels, result.Objective}, nil
}
