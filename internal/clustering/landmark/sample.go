package landmark

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// The start is found on a sample of the rows: the best of several starts, improved by exchanging centroids. For
// millions of rows that takes as long as a few iterations, and ends better than as many runs over all rows.

// SampleRows is the maximum number of rows of the sample, in addition to the landmarks.
const SampleRows = 20000

// samples reports whether the start is random.
func samples(spec clustering.Spec) bool {
	switch spec.Initialization.Start {
	case clustering.StartDefault, clustering.StartKmeansPlusPlus, clustering.StartRandom:
		return len(spec.Supervision.Seeds) == 0
	}
	return false
}

// sample is a sample of the points, in their units, that includes all landmarks.
type sample struct {
	points    *dataset.Points
	landmarks []int32 // indices of the landmarks among points
}

// drawSample returns the landmarks and random other points, in ascending order.
func (p *Problem) drawSample(points *dataset.Points) *sample {
	landmarks := p.Vectors.Features.Landmarks
	others := choose.Random[int32](points.N, SampleRows, p.spec.Random(clustering.StreamSample))
	rows := slices.Concat(landmarks, others)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	s := &sample{points: points.Take(rows), landmarks: make([]int32, len(landmarks))}
	for at, i := range rows {
		if place, ok := slices.BinarySearch(landmarks, i); ok {
			s.landmarks[place] = int32(at)
		}
	}
	return s
}

// sampleSpec returns the spec of the rows of the sample, whose features have the same bits as among all rows.
func (p *Problem) sampleSpec() *vector.RowSpec {
	rows, features := *p.Vectors, *p.Vectors.Features
	features.Landmarks, features.Matrix.Rows = p.sample.landmarks, p.sample.points.N
	rows.Features, rows.Rows = &features, p.sample.points.N
	return &rows
}

// begin returns the problem that starts at the best result on the sample, or p.Problem if the start is given.
func (p *Problem) begin(ctx context.Context) (*kmeans.Problem, error) {
	if p.sample == nil {
		return p.Problem, nil
	}
	size := p.spec.K * p.Columns()
	centroids, err := snapshot.Once(ctx, "start", (*snapshot.Writer).Floats, func(r *snapshot.Reader) []float64 {
		centroids := r.Floats()
		r.Check(len(centroids) == size)
		return centroids
	}, p.searchSample)
	if err != nil {
		return nil, err
	}
	return p.BeginAt(centroids), ctx.Err()
}

// searchSample returns the centroids of the best start. Snapshots are taken after every round of exchanges.
func (p *Problem) searchSample(ctx context.Context) ([]float64, error) {
	spec := p.spec
	spec.Supervision.Constraints, spec.MaxIterations = nil, max(spec.MaxIterations, 1)
	some, err := kmeans.NewProblem(p.sample.points, p.sampleSpec(), nil, onFeatures(spec, false))
	if err != nil {
		return nil, err
	}
	x, err := kmeans.NewLocal(ctx, some, p.sample.points, parallel.Threads(ctx))
	if err != nil {
		return nil, err
	}
	rows, err := p.sampleFeatures(ctx)
	if err != nil {
		return nil, err
	}
	return kmeans.BestStart(ctx, some, x, rows)
}

// sampleFeatures returns the features of the sample, row by row.
func (p *Problem) sampleFeatures(ctx context.Context) ([]float64, error) {
	features, err := kernel.NewFeatures(p.sampleSpec().Features, p.sample.points)
	if err != nil {
		return nil, err
	}
	n, rank := p.sample.points.N, p.Columns()
	rows := make([]float64, n*rank)
	some := make([]float64, rank*kernel.FeatureRows)
	for from := 0; from < n; from += kernel.FeatureRows {
		to := min(from+kernel.FeatureRows, n)
		if err := features.Compute(some, partition.Range{From: from, To: to}); err != nil {
			return nil, err
		}
		for r := range to - from {
			for c := range rank {
				rows[(from+r)*rank+c] = some[c*kernel.FeatureRows+r]
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
