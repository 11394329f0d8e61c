package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/howmany"
	"github.com/cleave-project/cleave/internal/dataset"
)

// solveRange runs a job with a range of k; see howmany.Run.
func solveRange(ctx context.Context, job, origin howmany.Job, threads int, o clustering.Observer) (*clustering.Result, error) {
	return howmany.Run(ctx, job, origin, &solver{data: job.Data, threads: threads, shared: auto.NewShared(job.Spec.MaxK)}, threads, o)
}

// solver implements howmany.Solver within this process.
type solver struct {
	data    dataset.Dataset
	threads int
	shared  *auto.Shared
}

// Solve implements howmany.Solver.
func (s *solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solveOne(ctx, s.data, spec, s.threads, s.shared, o)
}

// Small implements howmany.Solver.
func (s *solver) Small(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	return Small(ctx, data, spec)
}

// Small runs a job on few data.
func Small(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	return Solve(ctx, data, spec, 1, clustering.NopObserver{})
}
