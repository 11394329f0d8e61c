package landmark

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// RunAndScore runs k-means on the features and reports objectives of kernel k-means; see rest. For few points it also
// compares the answer with that of the full matrix.
func (p *Problem) RunAndScore(ctx context.Context, x kmeans.Executor,
	o clustering.Observer) (*clustering.Result, error) {
	o.Observe(clustering.PhaseInitialize)
	rest, err := p.rest(ctx, x)
	if err != nil {
		return nil, err
	}
	started, err := p.begin(snapshot.Within(ctx, "start"))
	if err != nil {
		return nil, err
	}
	result, err := kmeans.Run(ctx, started, x, withRest{o, rest})
	if err != nil {
		return nil, err
	}
	if err := kmeans.Score(ctx, started, x, result); err != nil {
		return nil, err
	}
	for i := range result.History {
		result.History[i] = entryWith(result.History[i], rest)
	}
	result.Objective += rest
	result.ObjectiveName = kernelkmeans.ObjectiveKernelKmeans.String()
	result.Kernel.Matrix = &p.Matrix
	result.Landmarks = &clustering.LandmarkReport{Count: p.landmarks.N, Rank: p.Columns(), Lost: p.lost(rest)}
	if err := p.compare(snapshot.Within(ctx, "exact"), result.Labels, result.Landmarks); err != nil &&
		ctx.Err() == nil {
		return nil, err
	}
	result.Model.Landmarks = &model.Landmarks{
		Matrix: p.Matrix, Centered: p.Matrix.Mean != nil, Points: p.landmarks,
		Projection: p.Vectors.Features.Projection,
	}
	return result, nil
}

// lost returns the share of the kernel that the features lose, 1 if the trace is not positive, as for some kernels that
// are not positive semidefinite.
func (p *Problem) lost(rest float64) float64 {
	if !(p.trace > 0) {
		return 1
	}
	return min(max(0, rest/p.trace), 1)
}

// rest returns the sum of k(x, x) - |phi(x)|^2, the part of the squared lengths that features lose. Centers in the span
// of the landmarks are farther from the points than from their features by that amount, so adding it to the distortion
// of features gives the kernel k-means objective for such centers, an upper bound of that for free centers.
func (p *Problem) rest(ctx context.Context, x kmeans.Executor) (float64, error) {
	origin := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: 1, Centroids: make([]float64, p.Columns())}
	squares, err := x.Measure().Nearest(ctx, []vector.Query{{Model: origin}})
	if err != nil {
		return 0, err
	}
	return p.trace - partition.SumByTile(p.Rows(), func(i int) float64 { return squares[0][i] }), nil
}

// withRest converts objectives on features to those of kernel k-means.
type withRest struct {
	clustering.Observer
	rest float64
}

func (w withRest) Observe(e clustering.Event) {
	if done, ok := e.(clustering.IterationDone); ok {
		done.HistoryEntry = entryWith(done.HistoryEntry, w.rest)
		e = done
	}
	w.Observer.Observe(e)
}

// entryWith returns the entry with rest added to its objectives. It leaves what e points to unchanged.
func entryWith(e clustering.HistoryEntry, rest float64) clustering.HistoryEntry {
	e.Objective += rest
	if e.AssignmentObjective != nil {
		assigned := *e.AssignmentObjective + rest
		e.AssignmentObjective = &assigned
	}
	if e.Parts != nil {
		parts := *e.Parts
		parts.Distortion += rest
		e.Parts = &parts
	}
	return e
}

// ExactRows is the maximum number of points for which the full matrix is run too, for comparison. It takes seconds.
const ExactRows = 5000

// compare reports how close the labels are to those of the same job with the full matrix, which it runs in this
// process. With constraints, it reports no objective, because penalties differ from those on features.
func (p *Problem) compare(ctx context.Context, labels []int32, report *clustering.LandmarkReport) error {
	if p.points == nil {
		return nil
	}
	spec, options := p.spec, *p.spec.Algorithm.(*kernelkmeans.Options)
	options.Landmarks = 0
	spec.Algorithm = &options
	exact, err := solve(ctx, p.points, spec)
	if err != nil {
		return err
	}
	scores, err := evaluate.Compare(labels, exact.Labels, nil)
	if err != nil {
		return err
	}
	report.ExactNMI = &scores.NMI
	if len(spec.Supervision.Constraints) == 0 {
		report.ExactObjective = &exact.Objective
	}
	return nil
}

// solve runs kernel k-means with the full matrix in this process.
func solve(ctx context.Context, points *dataset.Points, spec clustering.Spec) (*clustering.Result, error) {
	p, err := kernelkmeans.Prepare(points, spec)
	if err != nil {
		return nil, err
	}
	x, err := kernelkmeans.NewLocal(ctx, p, points, parallel.Threads(ctx))
	if err != nil {
		return nil, err
	}
	return kernelkmeans.Run(ctx, p, x, clustering.NopObserver{})
}
