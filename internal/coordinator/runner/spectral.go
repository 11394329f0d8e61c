package runner

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// spectralRunner runs spectral clustering: the workers hold the matrix, as for kernel k-means, and
// multiply it with the vectors of an eigensolver, which runs in the coordinator.
type spectralRunner struct {
	problem *spectral.Problem
	spec    clustering.Spec
	options *spectral.Options
	bytes   int64
}

func (r *spectralRunner) Objective() string { return r.problem.Objective.String() }

func (r *spectralRunner) Need() planning.Workload {
	return planning.Workload{
		Matrix:        r.problem.Matrix,
		DatasetBytes:  r.bytes,
		Scaled:        r.problem.Units != nil,
		K:             r.spec.K,
		Products:      r.problem.VectorsPerProduct(),
		SparseEntries: r.problem.SparseEntries(),
		Degrees:       true,
		Eigen: &planning.Eigensolver{
			Pairs:         r.problem.Eigenpairs(),
			Generalized:   r.problem.Generalized(),
			Dense:         r.problem.SolvesDense(),
			SparseEntries: r.problem.CoordinatorEntries(),
			Columns:       r.problem.EmbeddingColumns(),
			Restarts:      cmp.Or(r.options.Eigenvectors.KmeansRestarts, embedding.DefaultRestarts),
		},
	}
}

func (r *spectralRunner) OtherNeeds() []planning.Workload { return nil }

func (r *spectralRunner) LimitLanes(int) {}

func (r *spectralRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Units = r.problem.Units
	x, err := f.NewExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.executeOn(ctx, x, o) })
}

func (r *spectralRunner) units() *dataset.Units { return r.problem.Units }

func (r *spectralRunner) executeOn(ctx context.Context, x *fleet.Executor, o clustering.Observer) (*clustering.Result, error) {
	return spectral.Run(ctx, r.problem, x, o)
}
