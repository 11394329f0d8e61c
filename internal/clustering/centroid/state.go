package centroid

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
	"github.com/cleave-project/cleave/internal/vector"
)

// state is what all methods of this package share: a labeling with its exact sums, the centroids, and the
// metric.
type state struct {
	p         *Problem
	x         Executor
	rng       *rand.Rand
	restart   int
	labels    []int32
	counts    []int32
	sums      []float64
	centroids []float64 // k x d, in the coordinates of prepared rows
	absent    []bool    // clusters that have no centroid yet
	metric    *metric.Metric
	iteration int
}

// Labels implements clustering.Method.
func (s *state) Labels() []int32 { return s.labels }

// centroid is that of one cluster.
func (s *state) centroid(c int) []float64 { return s.centroids[c*s.p.d : (c+1)*s.p.d] }

// model is the centroids and the metric as they are now.
func (s *state) model() *vector.Model {
	return &vector.Model{
		Distortion: s.p.options.Distortion, Clusters: s.p.spec.K,
		Centroids: s.centroids, Absent: s.absent, Metric: s.metric.Values(),
	}
}

// single is a model with one centroid.
func (s *state) single(center []float64) *vector.Model {
	m := s.model()
	m.Clusters, m.Centroids, m.Absent = 1, center, nil
	return m
}

// load sets all labels.
func (s *state) load(ctx context.Context, labels []int32) error {
	sums, err := s.x.Load(ctx, labels)
	if err != nil {
		return err
	}
	s.labels, s.sums = slices.Clone(labels), sums
	s.counts = make([]int32, s.p.spec.K)
	for _, c := range labels {
		if c >= 0 {
			s.counts[c]++
		}
	}
	return nil
}

// apply moves points and takes over the new sums.
func (s *state) apply(ctx context.Context, moves []kernel.Move) error {
	sums, err := s.x.Update(ctx, moves)
	if err != nil {
		return err
	}
	for _, m := range moves {
		s.labels[m.Point] = m.To
		if m.From >= 0 {
			s.counts[m.From]--
		}
		if m.To >= 0 {
			s.counts[m.To]++
		}
	}
	s.sums = sums
	return nil
}

// takeMeans makes every centroid the mean of its cluster. A cluster without points, and one of unit vectors
// whose sum is 0, keeps its centroid.
func (s *state) takeMeans() {
	fresh, absent := slices.Clone(s.centroids), slices.Clone(s.absent) // models share the old slices
	mean, width := make([]float64, s.p.d), s.p.Vectors.Width()
	for c, count := range s.counts {
		if count == 0 {
			continue
		}
		s.p.Vectors.Centroid(mean, s.sums[c*width:(c+1)*width], int(count))
		if s.p.options.Distortion.NormalizeMean(mean) {
			copy(fresh[c*s.p.d:], mean)
			absent[c] = false
		}
	}
	s.centroids, s.absent = fresh, absent
}

// distortion is the sum of all labeled points' distortions to their centroids in a model.
func (s *state) distortion(ctx context.Context, m *vector.Model) (float64, error) {
	total, err := s.x.Scatter(ctx, m, vector.Total)
	if err != nil {
		return 0, err
	}
	return total[0], nil
}

// FillResult implements clustering.Method.
func (s *state) FillResult(result *clustering.Result) {
	result.Model = &clustering.Model{
		Distortion: s.p.options.Distortion, K: s.p.spec.K, D: s.p.d,
		Centroids: s.p.inDataCoordinates(s.centroids), Metric: s.metric, Units: s.p.Units,
	}
}

// snapshot is what a step changes. It is restored when a step fails halfway, so that labels are those of the last
// accepted step.
type snapshot struct {
	labels, counts  []int32
	sums, centroids []float64
	absent          []bool
	metric          *metric.Metric
}

func (s *state) snapshot() snapshot {
	return snapshot{slices.Clone(s.labels), slices.Clone(s.counts), s.sums, s.centroids, s.absent, s.metric}
}

func (s *state) restore(from snapshot) {
	s.labels, s.counts, s.sums, s.centroids, s.absent, s.metric = from.labels, from.counts, from.sums, from.centroids, from.absent, from.metric
}
