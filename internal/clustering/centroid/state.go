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

// vectorRun is what the methods of the vector family share: a labeling with its exact sums, the
// centroids, and the metric.
type state struct {
	p         *Problem
	x         Executor
	rng       *rand.Rand
	restart   int
	labels    []int32
	counts    []int32
	sums      []float64
	centroids []float64 // k x d, of rows as they are prepared
	absent    []bool    // clusters that have no centroid yet
	metric    *metric.Metric
	iteration int
}

// Labels implements Method.
func (r *state) Labels() []int32 { return r.labels }

// centroid is that of one cluster.
func (r *state) centroid(c int) []float64 { return r.centroids[c*r.p.d : (c+1)*r.p.d] }

// model is the centroids and the metric as they are now.
func (r *state) model() *vector.Model {
	return &vector.Model{
		Distortion: r.p.options.Distortion, Clusters: r.p.spec.K,
		Centroids: r.centroids, Absent: r.absent, Metric: r.metric.Values(),
	}
}

// single is a model of one centre.
func (r *state) single(centre []float64) *vector.Model {
	m := r.model()
	m.Clusters, m.Centroids, m.Absent = 1, centre, nil
	return m
}

// load sets all labels.
func (r *state) load(ctx context.Context, labels []int32) error {
	sums, err := r.x.Load(ctx, labels)
	if err != nil {
		return err
	}
	r.labels, r.sums = slices.Clone(labels), sums
	r.counts = make([]int32, r.p.spec.K)
	for _, c := range labels {
		if c >= 0 {
			r.counts[c]++
		}
	}
	return nil
}

// apply moves points.
func (r *state) apply(ctx context.Context, moves []kernel.Move) error {
	sums, err := r.x.Update(ctx, moves)
	if err != nil {
		return err
	}
	for _, m := range moves {
		r.labels[m.Point] = m.To
		if m.From >= 0 {
			r.counts[m.From]--
		}
		if m.To >= 0 {
			r.counts[m.To]++
		}
	}
	r.sums = sums
	return nil
}

// takeMeans makes every centroid the mean of its cluster. A cluster without points, and one of unit
// vectors that cancel out, keeps what it has.
func (r *state) takeMeans() {
	fresh, absent := slices.Clone(r.centroids), slices.Clone(r.absent) // a model keeps the old ones
	mean, width := make([]float64, r.p.d), r.p.Vectors.Width()
	for c, count := range r.counts {
		if count == 0 {
			continue
		}
		r.p.Vectors.Centroid(mean, r.sums[c*width:(c+1)*width], int(count))
		if r.p.options.Distortion.Centre(mean) {
			copy(fresh[c*r.p.d:], mean)
			absent[c] = false
		}
	}
	r.centroids, r.absent = fresh, absent
}

// distortion is the sum of all labelled points' distortions to their centroids in a model.
func (r *state) distortion(ctx context.Context, m *vector.Model) (float64, error) {
	total, err := r.x.Scatter(ctx, m, vector.Total)
	if err != nil {
		return 0, err
	}
	return total[0], nil
}

// Conclude implements Method.
func (r *state) Conclude(result *clustering.Result) {
	result.Model = &clustering.Model{
		Distortion: r.p.options.Distortion, K: r.p.spec.K, D: r.p.d,
		Centroids: r.p.original(r.centroids), Metric: r.metric,
	}
}

// snapshot keeps what a step changes, so that a step that fails half way leaves the labels of the last
// accepted one.
type snapshot struct {
	labels, counts  []int32
	sums, centroids []float64
	absent          []bool
	metric          *metric.Metric
}

func (r *state) snapshot() snapshot {
	return snapshot{slices.Clone(r.labels), slices.Clone(r.counts), r.sums, r.centroids, r.absent, r.metric}
}

func (r *state) restore(s snapshot) {
	r.labels, r.counts, r.sums, r.centroids, r.absent, r.metric = s.labels, s.counts, s.sums, s.centroids, s.absent, s.metric
}
