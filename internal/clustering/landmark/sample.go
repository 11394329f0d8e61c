package landmark

import (
	"context"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
)

// sampleRows is how many rows several starts are made on, beside the landmarks. Of more rows each takes no part in finding
// a start, but only in the run from the best one.
const sampleRows = 20000

// samples tells whether there are too many rows for several starts on all of them.
func samples(rows int, spec clustering.Spec) bool {
	switch spec.Start {
	case clustering.StartDefault, clustering.StartKmeansPlusPlus, clustering.StartRandom:
		return rows > 2*sampleRows && len(spec.Seeds) == 0 && spec.Runs() > 1
	}
	return false
}

// drawSample keeps some of the points, which are in their units, with all landmarks among them.
func (p *Problem) drawSample(points *dataset.Points) {
	landmarks := p.Vectors.Features.Landmarks
	rows := slices.Clone(landmarks)
	for _, i := range kernelkmeans.Sample(points.N, sampleRows, p.spec.Random(clustering.StreamSample)) {
		rows = append(rows, int32(i))
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	p.sample = &dataset.Points{N: len(rows), D: points.D, Values: make([]float64, 0, len(rows)*points.D)}
	p.places = make([]int32, len(landmarks))
	for at, i := range rows {
		p.sample.Values = append(p.sample.Values, points.Row(int(i))...)
		if place, is := slices.BinarySearch(landmarks, i); is {
			p.places[place] = int32(at)
		}
	}
}

// begin is the problem that begins where the best of all starts on the sample ended, if there is a sample. They run in
// this process.
func (p *Problem) begin(ctx context.Context) (*centroid.Problem, error) {
	if p.sample == nil {
		return p.Problem, nil
	}
	rows, features := *p.Vectors, *p.Vectors.Features
	features.Landmarks, features.Matrix.Rows = p.places, p.sample.N
	rows.Features, rows.Rows = &features, p.sample.N
	spec := onFeatures(p.spec)
	spec.Constraints, spec.InitialLabels, spec.MaxIterations = nil, nil, max(spec.MaxIterations, 1)
	spec.Algorithm = &centroid.Options{Algorithm: centroid.Kmeans}
	some, err := centroid.NewProblem(p.sample, &rows, nil, spec)
	if err != nil {
		return nil, err
	}
	x, err := centroid.NewLocal(ctx, some, p.sample, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	found, err := centroid.Run(ctx, some, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	return p.BeginAt(found.Model.Centroids), ctx.Err()
}
