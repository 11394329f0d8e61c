package landmark

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/vector"
)

// Where a run begins is found on some of the rows: the best of several starts, improved by exchanging centroids. That takes
// the time of a few iterations over millions of rows, and ends better than as many runs over all of them.

// sampleRows is how many rows there are in the sample, beside the landmarks, at most.
const sampleRows = 20000

// samples tells whether the start is left to chance.
func samples(spec clustering.Spec) bool {
	switch spec.Start {
	case clustering.StartDefault, clustering.StartKmeansPlusPlus, clustering.StartRandom:
		return len(spec.Seeds) == 0
	}
	return false
}

// sample is some of the points, in their units, with all landmarks among them.
type sample struct {
	points    *dataset.Points
	landmarks []int32 // which of them
}

func (p *Problem) drawSample(points *dataset.Points) *sample {
	landmarks := p.Vectors.Features.Landmarks
	rows := slices.Clone(landmarks)
	for _, i := range kernelkmeans.Sample(points.N, sampleRows, p.spec.Random(clustering.StreamSample)) {
		rows = append(rows, int32(i))
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	s := &sample{
		points:    &dataset.Points{N: len(rows), D: points.D, Values: make([]float64, 0, len(rows)*points.D)},
		landmarks: make([]int32, len(landmarks)),
	}
	for at, i := range rows {
		s.points.Values = append(s.points.Values, points.Row(int(i))...)
		if place, is := slices.BinarySearch(landmarks, i); is {
			s.landmarks[place] = int32(at)
		}
	}
	return s
}

// sampleSpec is the spec of the sample's rows, which have the bits that they have among all rows.
func (p *Problem) sampleSpec() *vector.RowSpec {
	rows, features := *p.Vectors, *p.Vectors.Features
	features.Landmarks, features.Matrix.Rows = p.sample.landmarks, p.sample.points.N
	rows.Features, rows.Rows = &features, p.sample.points.N
	return &rows
}

// begin is the problem that begins where the best start on the sample ends, unless the start is given.
func (p *Problem) begin(ctx context.Context) (*centroid.Problem, error) {
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

// best is the best centroids of the sample after some rounds of exchanges.
type best struct {
	centroids       []float64
	objective       float64
	round, failures int
}

// searchSample finds the centroids of the best start. It is remembered after every round of exchanges.
func (p *Problem) searchSample(ctx context.Context) ([]float64, error) {
	spec := p.spec
	spec.Constraints, spec.MaxIterations = nil, max(spec.MaxIterations, 1)
	some, err := centroid.NewProblem(p.sample.points, p.sampleSpec(), nil, onFeatures(spec))
	if err != nil {
		return nil, err
	}
	x, err := centroid.NewLocal(ctx, some, p.sample.points, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	source, piece := p.spec.Source(clustering.StreamExchange), snapshot.Open(ctx, "exchanges")
	found := p.readBest(piece.State(), source)
	if found == nil {
		first, err := centroid.Run(ctx, some, x, clustering.NopObserver{})
		if err != nil {
			return nil, err
		}
		found = &best{centroids: first.Model.Centroids, objective: first.Objective}
	}
	rows, err := p.sampleFeatures(ctx)
	if err != nil {
		return nil, err
	}
	rng := rand.New(source)
	for ; found.round < maxRounds && found.failures < maxFailures && ctx.Err() == nil; found.round++ {
		piece.Keep(8*len(found.centroids), func(w *snapshot.Writer) { found.save(w, source) })
		exchanged := some.BeginAt(exchange(rows, p.Columns(), found.centroids, rng))
		other, err := centroid.Run(snapshot.Without(ctx), exchanged, x, clustering.NopObserver{})
		if err != nil {
			return nil, err
		}
		if found.failures++; other.Objective < found.objective {
			found.centroids, found.objective, found.failures = other.Model.Centroids, other.Objective, 0
		}
	}
	return found.centroids, ctx.Err()
}

func (b *best) save(w *snapshot.Writer, source *rand.PCG) {
	w.Floats(b.centroids)
	w.Float(b.objective)
	w.Int(b.round)
	w.Int(b.failures)
	state, _ := source.MarshalBinary() // it never fails
	w.Raw(state)
}

// readBest reads what save wrote, nil if there is nothing.
func (p *Problem) readBest(r *snapshot.Reader, source *rand.PCG) *best {
	if r == nil {
		return nil
	}
	b := &best{r.Floats(), r.Float(), r.Int(), r.Int()}
	state := r.Raw()
	r.Check(len(b.centroids) == p.spec.K*p.Columns() && b.round >= 0 && b.failures >= 0)
	if r.End() != nil || source.UnmarshalBinary(state) != nil {
		return nil
	}
	return b
}

// sampleFeatures are the features of the sample, row by row.
func (p *Problem) sampleFeatures(ctx context.Context) ([]float64, error) {
	features, err := kernel.NewFeatures(p.sampleSpec().Features, p.sample.points)
	if err != nil {
		return nil, err
	}
	n, rank := p.sample.points.N, p.Columns()
	rows, some := make([]float64, n*rank), make([]float64, rank*kernel.FeatureRows)
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
