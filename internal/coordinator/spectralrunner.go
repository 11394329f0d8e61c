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

// spectralRunner runs a job of the spectral family: the workers hold the matrix, as for kernel k-means, and
// multiply it with the vectors of an eigensolver, which runs in the coordinator.
type spectralRunner struct {
	problem *cut.Problem
	spec    clustering.Spec
	options *cut.Options
	bytes   int64
}

func (r *spectralRunner) objective() string { return r.problem.Objective.String() }

func (r *spectralRunner) need() planning.Problem {
	return planning.Problem{
		Matrix:        r.problem.Matrix,
		DatasetBytes:  r.bytes,
		K:             r.spec.K,
		Products:      r.problem.Products(),
		SparseEntries: r.problem.SparseEntries(),
		Degrees:       true,
		Eigen: &planning.Eigen{
			Pairs:    r.problem.Pairs(),
			Pencil:   r.options.Algorithm == cut.Constrained,
			AtOnce:   r.problem.AtOnce(),
			Sparse:   r.problem.OwnEntries(),
			Columns:  r.problem.Columns(),
			Restarts: cmp.Or(r.options.Eigenvectors.KmeansRestarts, embedding.DefaultRestarts),
		},
	}
}

func (r *spectralRunner) limitLanes(int) {}

func (r *spectralRunner) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error) {
	x, err := f.NewExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := cut.Run(ctx, r.problem, x, o)
	held := x.Held()
	return result, &held, err
}
