package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/dataset"
)

// Solver implements howmany.Solver within this process.
type Solver struct {
	Data    dataset.Dataset
	Threads int
	Shared  *auto.Shared
}

// Solve implements howmany.Solver.
func (s *Solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solve(ctx, s.Data, spec, s.Threads, s.Shared, o)
}

// Small implements howmany.Solver.
func (s *Solver) Small(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	return Small(ctx, data, spec)
}

// Small runs a job on few data.
func Small(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	return Solve(ctx, data, spec, 1, clustering.NopObserver{})
}
