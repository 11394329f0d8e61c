package kmeans

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// start makes the first centroids. Afterwards the executor has labels: those that the start gives, else -1.
func (s *state) start() error {
	k, d := s.p.spec.K, s.p.d
	s.centroids, s.absent = make([]float64, k*d), make([]bool, k)
	for c := range s.absent {
		s.absent[c] = true
	}
	s.metric = metric.NewIdentity(d)
	if s.p.options.Metric != metric.Identity {
		unit, err := metric.NewUnit(s.p.options.Metric, d)
		if err != nil {
			return err
		}
		s.metric = unit
	}
	switch s.p.startOf(s.restart) {
	case clustering.StartLabels:
		if err := s.load(s.p.spec.InitialLabels); err != nil {
			return err
		}
		s.takeMeans()
		return s.startMissing()
	case clustering.StartCentroids:
		copy(s.centroids, s.p.options.InitialCentroids)
		clear(s.absent)
	case clustering.StartKmeansPlusPlus:
		if err := s.drawAll(); err != nil {
			return err
		}
	case clustering.StartRandom:
		random := s.perturbedMeans
		if s.p.options.Algorithm == CopKmeans {
			random = s.randomComponents
		}
		if err := random(); err != nil {
			return err
		}
	case clustering.StartSeeds:
		if err := s.seedMeans(); err != nil {
			return err
		}
	case clustering.StartNeighborhoods, clustering.StartWeightedFarthestFirst:
		if err := s.neighborhoods(); err != nil {
			return err
		}
	}
	return s.load(s.p.heldLabels())
}

// setCentroid sets the centroid of a cluster.
func (s *state) setCentroid(c int, center []float64) {
	copy(s.centroid(c), center)
	s.absent[c] = false
}

// startMissing draws centroids by k-means++ for clusters that the given labels leave empty.
func (s *state) startMissing() error {
	if !slices.Contains(s.absent, true) {
		return nil
	}
	labels := slices.Clone(s.labels)
	if _, err := s.kmeansPlusPlus(nil); err != nil {
		return err
	}
	return s.load(labels)
}

// kmeansPlusPlus draws a point for every cluster without centroid: with a probability proportional to its
// distortion to the nearest centroid, or uniformly if there is none yet. Points in exclude are not drawn.
func (s *state) kmeansPlusPlus(exclude []int32) (drawn []int32, err error) {
	n := s.p.n
	chance, least := make([]float64, n), make([]float64, n)
	for i := range chance {
		chance[i], least[i] = 1, math.Inf(1)
	}
	excluded := make([]bool, n)
	for _, i := range exclude {
		excluded[i] = true
	}
	updateChances := func(c int) error {
		distances, err := s.x.Nearest(s.single(s.centroid(c)))
		if err != nil {
			return err
		}
		for i, d := range distances {
			least[i] = min(least[i], d)
			chance[i] = max(0, least[i])
		}
		return nil
	}
	for c, absent := range s.absent {
		if !absent {
			if err := updateChances(c); err != nil {
				return nil, err
			}
		}
	}
	for c, absent := range s.absent {
		if !absent {
			continue
		}
		for i := range excluded {
			if excluded[i] {
				chance[i] = 0
			}
		}
		q := clustering.Draw(s.rng.Float64(), chance)
		if q < 0 { // only copies of chosen points are left: take the first free one
			q = max(0, slices.Index(excluded, false))
		}
		excluded[q] = true
		drawn = append(drawn, int32(q))
		if err := s.p.row(s.centroid(c), int32(q)); err != nil {
			return nil, err
		}
		if s.absent[c] = false; !slices.Contains(s.absent, true) {
			break
		}
		if err := updateChances(c); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// perturbation is how far perturbed means are from the global mean, in standard deviations.
const perturbation = 0.01

// perturbedMeans puts every missing centroid near the global mean: Random-KMeans (Basu2002 4.2).
func (s *state) perturbedMeans() error {
	d := s.p.d
	mean, deviation, err := s.globalMoments()
	if err != nil {
		return err
	}
	center := make([]float64, d)
	for c, absent := range s.absent {
		if !absent {
			continue
		}
		for f := range center {
			center[f] = mean[f] + float64(perturbation*deviation[f]*s.rng.NormFloat64())
		}
		s.p.options.Distortion.NormalizeMean(center)
		s.setCentroid(c, center)
	}
	return nil
}

// globalMoments is the mean of all points and the standard deviation of every feature. For divergences the mean
// stands in for the deviation, so that perturbed means stay positive.
func (s *state) globalMoments() (mean, deviation []float64, err error) {
	if err := s.load(make([]int32, s.p.n)); err != nil {
		return nil, nil, err
	}
	mean = make([]float64, s.p.d)
	s.p.Vectors.Centroid(mean, s.sums[:s.p.Vectors.Width()], s.p.n)
	if s.p.options.Distortion == metric.KL || s.p.options.Distortion == metric.IDivergence {
		return mean, mean, nil
	}
	m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: s.p.spec.K, Centroids: make([]float64, len(s.centroids))}
	copy(m.Centroids, mean)
	scatter, err := s.x.Scatter(m, vector.Diagonal)
	if err != nil {
		return nil, nil, err
	}
	for f := range scatter {
		scatter[f] = math.Sqrt(scatter[f] / float64(s.p.n))
	}
	return mean, scatter, nil
}

// randomComponents are the means of k components of the must-links, drawn at random.
func (s *state) randomComponents() error {
	components := s.p.Constraints.Components()
	order := make([]int32, components.Count())
	for c := range order {
		order[c] = int32(c)
	}
	for c := range s.p.spec.K {
		at := c + s.rng.IntN(len(order)-c)
		order[c], order[at] = order[at], order[c]
		center, err := s.meanOf(components.Members(order[c]))
		if err != nil {
			return err
		}
		if s.p.options.Distortion.NormalizeMean(center) {
			s.setCentroid(c, center)
		}
	}
	return nil
}

// seedMeans are the means of the seeds, each counted by how likely its label is (Basu2002 Fig. 1);
// clusters without seeds start by k-means++ among the other points.
func (s *state) seedMeans() error {
	row, totals, weights := make([]float64, s.p.d), make([]float64, len(s.centroids)), make([]float64, s.p.spec.K)
	var points []int32
	for _, seed := range s.p.seeds {
		if err := s.p.row(row, seed.Point); err != nil {
			return err
		}
		points = append(points, seed.Point)
		for at, c := range seed.Labels {
			weights[c] += seed.Chances[at]
			for f, v := range row {
				totals[int(c)*s.p.d+f] += float64(seed.Chances[at] * v)
			}
		}
	}
	for c, weight := range weights {
		if weight == 0 {
			continue
		}
		center := totals[c*s.p.d : (c+1)*s.p.d]
		for f := range center {
			center[f] /= weight
		}
		if s.p.options.Distortion.NormalizeMean(center) {
			s.setCentroid(c, center)
		}
	}
	_, err := s.kmeansPlusPlus(points)
	return err
}

// neighborhoods starts from the must-link components of at least two points, which Basu2003 3.1 calls
// neighborhoods. If there are k or more, centroids are the means of the largest or, with weighted farthest-first, of
// large ones that are far apart. Otherwise they are the means of all, then the first point that is cannot-linked to
// every neighborhood, then perturbed global means.
func (s *state) neighborhoods() error {
	components := s.p.Constraints.Components()
	var neighborhoods []int32
	for c := range int32(components.Count()) {
		if len(components.Members(c)) >= 2 {
			neighborhoods = append(neighborhoods, c)
		}
	}
	size := func(c int32) int { return len(components.Members(c)) }
	slices.SortStableFunc(neighborhoods, func(a, b int32) int { return cmp.Compare(size(b), size(a)) })
	k := s.p.spec.K
	if s.p.startOf(s.restart) == clustering.StartWeightedFarthestFirst {
		chosen, err := s.weightedFarthestFirst(neighborhoods)
		if err != nil {
			return err
		}
		neighborhoods = chosen
	}
	neighborhoods = neighborhoods[:min(len(neighborhoods), k)]
	for c, neighborhood := range neighborhoods {
		center, err := s.meanOf(components.Members(neighborhood))
		if err != nil {
			return err
		}
		if s.p.options.Distortion.NormalizeMean(center) {
			s.setCentroid(c, center)
		}
	}
	if len(neighborhoods) < k && len(neighborhoods) > 0 {
		if point := s.apartFromAll(neighborhoods); point >= 0 {
			if err := s.p.row(s.centroid(len(neighborhoods)), point); err != nil {
				return err
			}
			s.absent[len(neighborhoods)] = false
		}
	}
	if slices.Contains(s.absent, true) {
		return s.perturbedMeans()
	}
	return nil
}

// apartFromAll is the first point that is cannot-linked to every neighborhood; -1: there is none.
func (s *state) apartFromAll(neighborhoods []int32) int32 {
	components := s.p.Constraints.Components()
	for point := range int32(s.p.n) {
		own := components.Of(point)
		apart := true
		for _, neighborhood := range neighborhoods {
			apart = apart && s.p.Constraints.Apart(own, neighborhood)
		}
		if apart {
			return point
		}
	}
	return -1
}

// weightedFarthestFirst chooses up to k neighborhoods: the largest first, then always the one whose size times
// its distance to the nearest chosen one is largest; ties by size, then index.
func (s *state) weightedFarthestFirst(neighborhoods []int32) ([]int32, error) {
	if len(neighborhoods) == 0 {
		return nil, nil
	}
	components, measure := s.p.Constraints.Components(), metric.Measure{Distortion: s.p.options.Distortion, Metric: metric.NewIdentity(s.p.d)}
	centers, least := make([][]float64, len(neighborhoods)), make([]float64, len(neighborhoods))
	for at, neighborhood := range neighborhoods {
		center, err := s.meanOf(components.Members(neighborhood))
		if err != nil {
			return nil, err
		}
		s.p.options.Distortion.NormalizeMean(center)
		centers[at], least[at] = center, math.Inf(1)
	}
	chosen, next := []int32{}, 0
	taken := make([]bool, len(neighborhoods))
	for len(chosen) < min(len(neighborhoods), s.p.spec.K) {
		taken[next] = true
		chosen = append(chosen, neighborhoods[next])
		best, score := -1, 0.0
		for at, neighborhood := range neighborhoods {
			least[at] = min(least[at], measure.Between(centers[at], centers[next]))
			if weighted := least[at] * float64(len(components.Members(neighborhood))); !taken[at] && (best < 0 || weighted > score) {
				best, score = at, weighted
			}
		}
		next = best
	}
	return chosen, nil
}

// meanOf is the mean of some points.
func (s *state) meanOf(points []int32) ([]float64, error) {
	mean, row := make([]float64, s.p.d), make([]float64, s.p.d)
	for _, point := range points {
		if err := s.p.row(row, point); err != nil {
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
