package centroid

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/metric"
	"github.com/cleave-project/cleave/internal/vector"
)

// start makes the first centroids, and labels where the start is made of labels. After it the executor
// has labels: -1 for every point that has none yet.
func (r *state) start(ctx context.Context) error {
	k, d := r.p.spec.K, r.p.d
	r.centroids, r.absent = make([]float64, k*d), make([]bool, k)
	for c := range r.absent {
		r.absent[c] = true
	}
	r.metric = metric.NewIdentity(d)
	if r.p.options.Metric != metric.Identity {
		unit, err := metric.NewUnit(r.p.options.Metric, d)
		if err != nil {
			return err
		}
		r.metric = unit
	}
	switch r.p.startKind() {
	case clustering.StartLabels:
		if err := r.load(ctx, r.p.spec.InitialLabels); err != nil {
			return err
		}
		r.takeMeans()
		return r.startMissing(ctx)
	case clustering.StartCentroids:
		copy(r.centroids, r.p.options.InitialCentroids)
		clear(r.absent)
	case clustering.StartKmeansPlusPlus:
		if err := r.kmeansPlusPlus(ctx, nil); err != nil {
			return err
		}
	case clustering.StartRandom:
		random := r.perturbedMeans
		if r.p.options.Algorithm == CopKmeans {
			random = r.randomComponents
		}
		if err := random(ctx); err != nil {
			return err
		}
	case clustering.StartSeeds:
		if err := r.seedMeans(ctx); err != nil {
			return err
		}
	case clustering.StartNeighborhoods, clustering.StartWeightedFarthestFirst:
		if err := r.neighborhoods(ctx); err != nil {
			return err
		}
	}
	return r.load(ctx, r.p.heldLabels())
}

// put puts the centroid of a cluster.
func (r *state) put(c int, centre []float64) {
	copy(r.centroid(c), centre)
	r.absent[c] = false
}

// startMissing gives clusters that the given labels leave empty a centroid by k-means++.
func (r *state) startMissing(ctx context.Context) error {
	if !slices.Contains(r.absent, true) {
		return nil
	}
	labels := slices.Clone(r.labels)
	if err := r.kmeansPlusPlus(ctx, nil); err != nil {
		return err
	}
	return r.load(ctx, labels)
}

// kmeansPlusPlus draws a point for every cluster without centroid: the first uniformly, each further
// one with a chance proportional to its distortion to the nearest centroid there is. Points in taken
// are not drawn.
func (r *state) kmeansPlusPlus(ctx context.Context, taken []int32) error {
	n := r.p.n
	chance, least := make([]float64, n), make([]float64, n)
	for i := range chance {
		chance[i], least[i] = 1, math.Inf(1)
	}
	closed := make([]bool, n)
	for _, i := range taken {
		closed[i] = true
	}
	follow := func(c int) error {
		distances, err := r.x.Nearest(ctx, r.single(r.centroid(c)))
		if err != nil {
			return err
		}
		for i, d := range distances {
			least[i] = min(least[i], d)
			chance[i] = max(0, least[i])
		}
		return nil
	}
	for c, absent := range r.absent {
		if !absent {
			if err := follow(c); err != nil {
				return err
			}
		}
	}
	for c, absent := range r.absent {
		if !absent {
			continue
		}
		for i := range closed {
			if closed[i] {
				chance[i] = 0
			}
		}
		q := clustering.Draw(r.rng.Float64(), chance)
		if q < 0 { // only copies of chosen points are left: take the first free one
			q = max(0, slices.Index(closed, false))
		}
		closed[q] = true
		if err := r.p.row(r.centroid(c), int32(q)); err != nil {
			return err
		}
		r.absent[c] = false
		if err := follow(c); err != nil {
			return err
		}
	}
	return nil
}

// spread is how far perturbed means lie from the global one, in standard deviations.
const spread = 0.01

// perturbedMeans puts every missing centroid near the global mean: Random-KMeans (Basu2002 4.2).
func (r *state) perturbedMeans(ctx context.Context) error {
	d := r.p.d
	mean, deviation, err := r.overall(ctx)
	if err != nil {
		return err
	}
	centre := make([]float64, d)
	for c, absent := range r.absent {
		if !absent {
			continue
		}
		for f := range centre {
			centre[f] = mean[f] + float64(spread*deviation[f]*r.rng.NormFloat64())
		}
		r.p.options.Distortion.Centre(centre)
		r.put(c, centre)
	}
	return nil
}

// overall is the mean of all points and the standard deviation of every feature. Divergences know no
// squares; there the mean itself stands for the deviation, so that what is perturbed stays positive.
func (r *state) overall(ctx context.Context) (mean, deviation []float64, err error) {
	if err := r.load(ctx, make([]int32, r.p.n)); err != nil {
		return nil, nil, err
	}
	mean = make([]float64, r.p.d)
	r.p.Vectors.Centroid(mean, r.sums[:r.p.Vectors.Width()], r.p.n)
	if r.p.options.Distortion == metric.KL || r.p.options.Distortion == metric.IDivergence {
		return mean, mean, nil
	}
	m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: r.p.spec.K, Centroids: make([]float64, len(r.centroids))}
	copy(m.Centroids, mean)
	scatter, err := r.x.Scatter(ctx, m, vector.Diagonal)
	if err != nil {
		return nil, nil, err
	}
	for f := range scatter {
		scatter[f] = math.Sqrt(scatter[f] / float64(r.p.n))
	}
	return mean, scatter, nil
}

// randomComponents are the means of k components of the must-links, drawn at random.
func (r *state) randomComponents(context.Context) error {
	components := r.p.Constraints.Components()
	order := make([]int32, components.Count())
	for c := range order {
		order[c] = int32(c)
	}
	for c := range r.p.spec.K {
		at := c + r.rng.IntN(len(order)-c)
		order[c], order[at] = order[at], order[c]
		centre, err := r.meanOf(components.Members(order[c]))
		if err != nil {
			return err
		}
		if r.p.options.Distortion.Centre(centre) {
			r.put(c, centre)
		}
	}
	return nil
}

// seedMeans are the means of the seeds, each counted by how likely its label is (Basu2002 Fig. 1);
// clusters without seeds start by k-means++ among the other points.
func (r *state) seedMeans(ctx context.Context) error {
	row, totals, weights := make([]float64, r.p.d), make([]float64, len(r.centroids)), make([]float64, r.p.spec.K)
	var points []int32
	for _, seed := range r.p.seeds {
		if err := r.p.row(row, seed.Point); err != nil {
			return err
		}
		points = append(points, seed.Point)
		for at, c := range seed.Labels {
			weights[c] += seed.Chances[at]
			for f, v := range row {
				totals[int(c)*r.p.d+f] += float64(seed.Chances[at] * v)
			}
		}
	}
	for c, weight := range weights {
		if weight == 0 {
			continue
		}
		centre := totals[c*r.p.d : (c+1)*r.p.d]
		for f := range centre {
			centre[f] /= weight
		}
		if r.p.options.Distortion.Centre(centre) {
			r.put(c, centre)
		}
	}
	return r.kmeansPlusPlus(ctx, points)
}

// neighbourhoods are the must-link components of at least two points (Basu2003 3.1): with k or more of
// them the centroids of the largest or, by weighted farthest-first, of large ones far apart; with fewer
// all of them, then the first point that is cannot-linked to every one, then perturbed global means.
func (r *state) neighborhoods(ctx context.Context) error {
	components := r.p.Constraints.Components()
	var hoods []int32
	for c := range int32(components.Count()) {
		if len(components.Members(c)) >= 2 {
			hoods = append(hoods, c)
		}
	}
	size := func(c int32) int { return len(components.Members(c)) }
	slices.SortStableFunc(hoods, func(a, b int32) int { return cmp.Compare(size(b), size(a)) })
	k := r.p.spec.K
	if r.p.startKind() == clustering.StartWeightedFarthestFirst {
		chosen, err := r.weightedFarthestFirst(hoods)
		if err != nil {
			return err
		}
		hoods = chosen
	}
	hoods = hoods[:min(len(hoods), k)]
	for c, hood := range hoods {
		centre, err := r.meanOf(components.Members(hood))
		if err != nil {
			return err
		}
		if r.p.options.Distortion.Centre(centre) {
			r.put(c, centre)
		}
	}
	if len(hoods) < k && len(hoods) > 0 {
		if point := r.apartFromAll(hoods); point >= 0 {
			if err := r.p.row(r.centroid(len(hoods)), point); err != nil {
				return err
			}
			r.absent[len(hoods)] = false
		}
	}
	if slices.Contains(r.absent, true) {
		return r.perturbedMeans(ctx)
	}
	return nil
}

// apartFromAll is the first point that is cannot-linked to every neighbourhood; -1: there is none.
func (r *state) apartFromAll(hoods []int32) int32 {
	components := r.p.Constraints.Components()
	for point := range int32(r.p.n) {
		own := components.Of(point)
		apart := true
		for _, hood := range hoods {
			apart = apart && r.p.Constraints.Apart(own, hood)
		}
		if apart {
			return point
		}
	}
	return -1
}

// weightedFarthestFirst orders neighbourhoods: the largest first, then always the one whose distance to
// the nearest chosen one times its size is largest; ties by size, then index.
func (r *state) weightedFarthestFirst(hoods []int32) ([]int32, error) {
	if len(hoods) == 0 {
		return nil, nil
	}
	components, measure := r.p.Constraints.Components(), metric.Measure{Distortion: r.p.options.Distortion, Metric: metric.NewIdentity(r.p.d)}
	centres, least := make([][]float64, len(hoods)), make([]float64, len(hoods))
	for at, hood := range hoods {
		centre, err := r.meanOf(components.Members(hood))
		if err != nil {
			return nil, err
		}
		r.p.options.Distortion.Centre(centre)
		centres[at], least[at] = centre, math.Inf(1)
	}
	chosen, next := []int32{}, 0
	taken := make([]bool, len(hoods))
	for len(chosen) < min(len(hoods), r.p.spec.K) {
		taken[next] = true
		chosen = append(chosen, hoods[next])
		best, score := -1, 0.0
		for at, hood := range hoods {
			least[at] = min(least[at], measure.Between(centres[at], centres[next]))
			if weighted := least[at] * float64(len(components.Members(hood))); !taken[at] && (best < 0 || weighted > score) {
				best, score = at, weighted
			}
		}
		next = best
	}
	return chosen, nil
}

// meanOf is the mean of some points.
func (r *state) meanOf(points []int32) ([]float64, error) {
	mean, row := make([]float64, r.p.d), make([]float64, r.p.d)
	for _, point := range points {
		if err := r.p.row(row, point); err != nil {
			return nil, err
		}
		for f, v := range row {
			mean[f] += v
		}
	}
	for f := range mean {
		mean[f] /= float64(len(points))
	}
	return mean, nil
}
