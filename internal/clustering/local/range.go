package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// solveRange runs a job with a range of k; see krange.Run.
func solveRange(ctx context.Context, job, origin krange.Job, threads int, o clustering.Observer) (*clustering.Result, error) {
	s := &solver{data: job.Data, threads: threads, shared: NewShared(job.Spec.MaxK), Parts: NewParts(job.Spec.MaxK)}
	return krange.Run(ctx, job, origin, s, threads, o)
}

// solver implements krange.Solver within this process.
type solver struct {
	data    dataset.Dataset
	threads int
	shared  *Shared
	*Parts
}

// Solve implements krange.Solver.
func (s *solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solveOne(ctx, s.data, spec, s.threads, s.shared, o)
}
