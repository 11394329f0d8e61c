package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/howmany"
	"github.com/cleave-project/cleave/internal/dataset"
)

// solveRange runs a job with a range of k; see howmany.Run.
func solveRange(ctx context.Context, job, origin howmany.Job, threads int, o clustering.Observer) (*clustering.Result, error) {
	s := &solver{data: job.Data, threads: threads, shared: NewShared(job.Spec.MaxK), Parts: NewParts(job.Spec.MaxK)}
	return howmany.Run(ctx, job, origin, s, threads, o)
}

// solver implements howmany.Solver within this process.
type solver struct {
	data    dataset.Dataset
	threads int
	shared  *Shared
	*Parts
}

// Solve implements howmany.Solver.
func (s *solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solveOne(ctx, s.data, spec, s.threads, s.shared, o)
}
