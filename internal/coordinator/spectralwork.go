package coordinator

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// spectralWork is a job of the spectral family: the workers hold the matrix as for kernel k-means and
// multiply it with the vectors of an eigensolver that runs here.
type spectralWork struct {
	problem *cut.Problem
	spec    clustering.Spec
	options *cut.Options
	bytes   int64
}

func (w *spectralWork) objective() string { return w.problem.Objective.String() }

func (w *spectralWork) need() planning.Problem {
	return planning.Problem{
		Matrix:        w.problem.Matrix,
		DatasetBytes:  w.bytes,
		K:             w.spec.K,
		Products:      w.problem.Products(),
		SparseEntries: w.problem.SparseEntries(),
		Degrees:       true,
		Eigen: &planning.Eigen{
			Pairs:    w.problem.Pairs(),
			Pencil:   w.options.Algorithm == cut.Constrained,
			AtOnce:   w.problem.AtOnce(),
			Sparse:   w.problem.OwnEntries(),
			Columns:  w.problem.Columns(),
			Restarts: cmp.Or(w.options.Eigenvectors.KmeansRestarts, embedding.DefaultRestarts),
		},
	}
}

func (w *spectralWork) limit(int) {}

func (w *spectralWork) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error) {
	x, err := f.NewExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := cut.Run(ctx, w.problem, x, o)
	held := x.Held()
	return result, &held, err
}
