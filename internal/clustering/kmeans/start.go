package kmeans

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// start computes the first centroids. Afterward the executor has the labels that the start provides, otherwise -1.
func (s *state) start() error {
	k, d := s.p.spec.K, s.p.d
	s.centroids = make([]float64, k*d)
	s.absent = slices.Repeat([]bool{true}, k)
	s.metric = metric.NewIdentity(d)
	if s.p.options.Metric != metric.Identity {
		unit, err := metric.NewUnit(s.p.options.Metric, d)
		if err != nil {
			return err
		}
		s.metric = unit
	}
	var err error
	switch start := s.p.plan.Starts[s.restart]; {
	case start == clustering.StartLabels:
		if err := s.load(s.p.spec.Initialization.Labels); err != nil {
			return err
		}
		s.takeMeans()
		return s.startMissing()
	case start == clustering.StartCentroids:
		copy(s.centroids, s.p.options.InitialCentroids)
		clear(s.absent)
	case start == clustering.StartKmeansPlusPlus:
		err = s.drawAll()
	case start == clustering.StartRandom && s.p.options.Algorithm == CopKmeans:
		err = s.randomComponents()
	case start == clustering.StartRandom:
		err = s.perturbedMeans()
	case start == clustering.StartSeeds:
		err = s.seedMeans()
	case start == clustering.StartNeighborhoods || start == clustering.StartWeightedFarthestFirst:
		err = s.neighborhoods()
	default:
		err = fmt.Errorf("k-means has no start %d", start)
	}
	if err != nil {
		return err
	}
	return s.load(s.p.heldLabels())
}

// setCentroid makes the mean of some points the centroid of a cluster, unless they are unit vectors that cancel out.
func (s *state) setCentroid(c int, mean []float64) {
	if s.p.options.Distortion.NormalizeMean(mean) {
		copy(s.centroid(c), mean)
		s.absent[c] = false
	}
}

// setPoint makes a point the centroid of a cluster.
func (s *state) setPoint(c int, point int32) error {
	s.absent[c] = false
	return s.p.row(s.centroid(c), point)
}

// drawKey is what the points that k-means++ draws depend on, besides the rows, if no centroid is given. Problems on the
// same rows keep these points in Problem.draws, so that a restart of one begins where that of another did.
type drawKey struct {
	seed       uint64
	restart, k int
	distortion metric.Distortion
	form       metric.Form
}

// drawAll is kmeansPlusPlus for all clusters. It reuses points that another problem drew.
func (s *state) drawAll() error {
	key := drawKey{s.p.spec.Seed, s.restart, s.p.spec.K, s.p.options.Distortion, s.metric.Form()}
	known, found := s.p.draws.Load(key)
	if !found {
		points, err := s.kmeansPlusPlus(nil)
		if err == nil {
			s.p.draws.Store(key, points)
		}
		return err
	}
	for c, point := range known.([]int32) {
		s.rng.Float64() // as the draw would
		if err := s.setPoint(c, point); err != nil {
			return err
		}
	}
	return nil
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

// kmeansPlusPlus draws a point for every cluster without a centroid, with a probability proportional to its distortion
// from the nearest centroid, or uniformly if there is none yet. It does not draw the points in exclude.
func (s *state) kmeansPlusPlus(exclude []int32) (drawn []int32, err error) {
	n := s.p.n
	chance := clustering.Ones(n)
	least := slices.Repeat([]float64{math.Inf(1)}, n)
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
		if err := s.setPoint(c, int32(q)); err != nil {
			return nil, err
		}
		if !slices.Contains(s.absent, true) {
			break
		}
		if err := updateChances(c); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// perturbation is the distance of perturbed means from the global mean, in standard deviations.
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
		if s.p.options.Distortion == metric.KL {
			scaleToSumOne(center) // divergences from a mean of another sum can be negative, and J could rise
		}
		copy(s.centroid(c), center)
		s.absent[c] = false
	}
	return nil
}

func scaleToSumOne(v []float64) {
	total := 0.0
	for _, x := range v {
		total += x
	}
	for f := range v {
		v[f] /= total
	}
}

// globalMoments returns the mean of all points and the standard deviation of every feature. For divergences it returns
// the mean in place of the deviation, so that perturbed means stay positive.
func (s *state) globalMoments() (mean, deviation []float64, err error) {
	if err := s.load(make([]int32, s.p.n)); err != nil {
		return nil, nil, err
	}
	mean = make([]float64, s.p.d)
	s.p.Vectors.Centroid(mean, s.sums[:s.p.Vectors.Width()], s.p.n)
	if s.p.options.Distortion == metric.KL || s.p.options.Distortion == metric.IDivergence {
		return mean, mean, nil
	}
	m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: s.p.spec.K,
		Centroids: make([]float64, len(s.centroids))}
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

// randomComponents uses the means of k randomly drawn must-link components, or the first point of one whose mean has no
// direction.
func (s *state) randomComponents() error {
	components := s.p.Constraints.Components()
	order := choose.All[int32](components.Count())
	for c := range s.p.spec.K {
		at := c + s.rng.IntN(len(order)-c)
		order[c], order[at] = order[at], order[c]
		members := components.Members(order[c])
		center, err := s.meanOf(members)
		if err != nil {
			return err
		}
		if s.setCentroid(c, center); s.absent[c] {
			if err := s.setPoint(c, members[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// seedMeans uses the means of the seeds, each weighted by the probability of its label (Basu2002 Fig. 1). Clusters
// without seeds start by k-means++ among the other points.
func (s *state) seedMeans() error {
	row := make([]float64, s.p.d)
	totals := make([]float64, len(s.centroids))
	weights := make([]float64, s.p.spec.K)
	var points []int32
	for _, seed := range s.p.seeds {
		if err := s.p.row(row, seed.Point); err != nil {
			return err
		}
		points = append(points, seed.Point)
		for i, c := range seed.Labels {
			weights[c] += seed.Chances[i]
			for f, v := range row {
				totals[int(c)*s.p.d+f] += float64(seed.Chances[i] * v)
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
		s.setCentroid(c, center)
	}
	_, err := s.kmeansPlusPlus(points)
	return err
}

// neighborhoods starts from the must-link components of at least two points, which Basu2003 3.1 calls neighborhoods. If
// there are k or more, centroids are the means of the largest or, with weighted farthest-first, of large ones that are
// far apart. Otherwise they are the means of all of them, then the first point that is cannot-linked to every
// neighborhood, then perturbed global means.
func (s *state) neighborhoods() error {
	components := s.p.Constraints.Components()
	size := func(c int32) int { return len(components.Members(c)) }
	var neighborhoods []int32
	for c := range int32(components.Count()) {
		if size(c) >= 2 {
			neighborhoods = append(neighborhoods, c)
		}
	}
	slices.SortStableFunc(neighborhoods, func(a, b int32) int { return cmp.Compare(size(b), size(a)) })
	k := s.p.spec.K
	if s.p.plan.Starts[s.restart] == clustering.StartWeightedFarthestFirst {
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
		s.setCentroid(c, center)
	}
	if len(neighborhoods) < k && len(neighborhoods) > 0 {
		if point := s.apartFromAll(neighborhoods); point >= 0 {
			if err := s.setPoint(len(neighborhoods), point); err != nil {
				return err
			}
		}
	}
	if slices.Contains(s.absent, true) {
		return s.perturbedMeans()
	}
	return nil
}

// apartFromAll returns the first point that is cannot-linked to every neighborhood, or -1 if there is none.
func (s *state) apartFromAll(neighborhoods []int32) int32 {
	components := s.p.Constraints.Components()
	for point := range int32(s.p.n) {
		own := components.Of(point)
		if !slices.ContainsFunc(neighborhoods, func(other int32) bool { return !s.p.Constraints.Apart(own, other) }) {
			return point
		}
	}
	return -1
}

// weightedFarthestFirst chooses up to k neighborhoods: the largest first, then always the one with the largest product
// of its size and its distance to the nearest chosen one. Ties go to the larger, then to the first.
func (s *state) weightedFarthestFirst(neighborhoods []int32) ([]int32, error) {
	if len(neighborhoods) == 0 {
		return nil, nil
	}
	components := s.p.Constraints.Components()
	measure := metric.Measure{Distortion: s.p.options.Distortion, Metric: metric.NewIdentity(s.p.d)}
	centers := make([][]float64, len(neighborhoods))
	least := make([]float64, len(neighborhoods))
	for i, neighborhood := range neighborhoods {
		center, err := s.meanOf(components.Members(neighborhood))
		if err != nil {
			return nil, err
		}
		s.p.options.Distortion.NormalizeMean(center)
		centers[i], least[i] = center, math.Inf(1)
	}
	chosen, next := []int32{}, 0
	taken := make([]bool, len(neighborhoods))
	for len(chosen) < min(len(neighborhoods), s.p.spec.K) {
		taken[next] = true
		chosen = append(chosen, neighborhoods[next])
		best, score := -1, 0.0
		for i, neighborhood := range neighborhoods {
			least[i] = min(least[i], measure.Between(centers[i], centers[next]))
			if weighted := least[i] * float64(len(components.Members(neighborhood))); !taken[i] &&
				(best < 0 || weighted > score) {
				best, score = i, weighted
			}
		}
		next = best
	}
	return chosen, nil
}

// meanOf returns the mean of some points.
func (s *state) meanOf(points []int32) ([]float64, error) {
	mean := make([]float64, s.p.d)
	row := make([]float64, s.p.d)
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
