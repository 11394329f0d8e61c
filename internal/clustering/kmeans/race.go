package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// If there are many rows, the starts of k-means race: all of them run on a sample of the rows until they stop, and only
// the best continues over all rows. A sample ranks starts as all rows do, unless they hardly differ, so this saves nine
// of ten runs over all rows, and the memory of their lanes. The race always runs in this process, not on workers.

// The sample has 2^15 rows, fewer if points are wide, but enough per cluster to estimate its mean. Starts race if that
// is at most a quarter of the rows.
const (
	raceRows       = 1 << 15
	minRaceRows    = 1 << 13
	raceValues     = 1 << 24
	racePerCluster = 128
	raceShare      = 4
	// Tolerances of the runs on the sample and over all rows. Labels hardly change any more below the latter.
	raceTolerance = 1e-5
	lastTolerance = 1e-7
)

// raceSize returns the number of rows of the sample.
func (p *Problem) raceSize() int {
	rows := raceRows
	if _, dense := p.data.(*dataset.Points); dense {
		rows = min(rows, max(minRaceRows, raceValues/max(1, p.d)))
	}
	return max(rows, racePerCluster*p.spec.K)
}

// mayRace reports whether there are enough rows for a race, and the user did not ask for a number of restarts.
func (p *Problem) mayRace() bool {
	return p.options.Race && p.spec.Runs() > 1 && p.spec.MaxIterations > 0 && p.Vectors.Features == nil &&
		p.n/raceShare >= p.raceSize()
}

// planRace returns the number of rows that starts race on: those of k-means, or those without constraints. It is 0 if
// they do not race.
func (p *Problem) planRace() int {
	start := p.startKind()
	random := start == clustering.StartKmeansPlusPlus || start == clustering.StartRandom
	if p.mayRace() && (p.options.Algorithm == Kmeans && random || p.weighed()) {
		return p.raceSize()
	}
	return 0
}

// RaceRows returns the number of rows that starts race on, or 0 if they do not.
func (p *Problem) RaceRows() int { return p.raceRows }

// winner returns the centroids where the best start on the sample ended.
func (p *Problem) winner(ctx context.Context) ([]float64, error) {
	return snapshot.Once(ctx, "race", (*snapshot.Writer).Floats, func(r *snapshot.Reader) []float64 {
		centroids := r.Floats()
		r.Check(len(centroids) == p.spec.K*p.d)
		return centroids
	}, p.race)
}

// race runs all starts on the sample, whose rows have the same bits as among all rows, and returns the centroids of the
// best.
func (p *Problem) race(ctx context.Context) ([]float64, error) {
	data, err := dataset.Take(p.data, choose.Random[int32](p.n, p.raceSize(), p.spec.Random(clustering.StreamSample)))
	if err != nil {
		return nil, err
	}
	rows, spec := *p.Vectors, p.spec
	rows.Rows = data.Rows()
	spec.Restarts = p.spec.Runs()
	options := p.options
	options.Race = false
	spec.Algorithm = &options
	spec.Tolerance = max(spec.Tolerance, raceTolerance)
	sample, err := NewProblem(data, &rows, nil, spec)
	if err != nil {
		return nil, err
	}
	sample.OnlyBest = true
	x, err := NewLocal(ctx, sample, data, parallel.Threads(ctx))
	if err != nil {
		return nil, err
	}
	values, err := sample.denseRows()
	if err != nil {
		return nil, err
	}
	return BestStart(ctx, sample, x, values)
}

// denseRows returns all prepared rows for the exchanges of BestStart, or nil unless points are dense and distances
// squared Euclidean.
func (p *Problem) denseRows() ([]float64, error) {
	_, dense := p.data.(*dataset.Points)
	if !dense || p.options.Distortion != metric.SquaredEuclidean {
		return nil, nil
	}
	values := make([]float64, 0, p.n*p.d)
	err := p.source.EachRow(partition.Range{To: p.n}, func(row []float64) { values = append(values, row...) })
	return values, err
}
