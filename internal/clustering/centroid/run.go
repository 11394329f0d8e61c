package centroid

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
)

// family is a problem on its executor. Its restarts run one after the other.
type family struct {
	clustering.Sequential
	p *Problem
	x Executor
}

// Run runs a problem.
func Run(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*clustering.Result, error) {
	return clustering.Run(ctx, family{p: p, x: x}, o)
}

// Notices implements clustering.Job.
func (f family) Notices() []clustering.Notice { return f.p.Warnings }

// Begin implements clustering.Job.
func (f family) Begin(context.Context, clustering.Observer) (clustering.Family, error) { return f, nil }

// K implements clustering.Family.
func (f family) K() int { return f.p.spec.K }

// Restarts implements clustering.Family.
func (f family) Restarts() int { return max(1, f.p.spec.Restarts) }

// MaxIterations implements clustering.Family.
func (f family) MaxIterations() int { return f.p.spec.MaxIterations }

// Method implements clustering.Family.
func (f family) Method(restart int, _ *clustering.Lane, _ clustering.Observer) clustering.Method {
	return f.p.newMethod(f.x, restart)
}

// FillResult implements clustering.Family.
func (f family) FillResult(r *clustering.Result) {
	r.Warnings = slices.Concat(f.p.Warnings, r.Warnings)
	r.ObjectiveName, r.Units = f.p.options.Algorithm.String(), f.p.Units
	r.Satisfaction = f.p.Constraints.Satisfaction(r.Labels)
}
