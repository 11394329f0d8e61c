package clustering

import (
	"context"
	"slices"
)

// vectorFamily is a problem on its executor. Its restarts run one after the other.
type vectorFamily struct {
	OneByOne
	p *VectorProblem
	x VectorExecutor
}

// RunVector runs a problem.
func RunVector(ctx context.Context, p *VectorProblem, x VectorExecutor, o Observer) (*Result, error) {
	return RunJob(ctx, vectorFamily{p: p, x: x}, o)
}

// Notices implements clustering.Job.
func (f vectorFamily) Notices() []Notice { return f.p.Warnings }

// Begin implements clustering.Job.
func (f vectorFamily) Begin(context.Context, Observer) (Family, error) { return f, nil }

// K implements clustering.Family.
func (f vectorFamily) K() int { return f.p.spec.K }

// Restarts implements clustering.Family.
func (f vectorFamily) Restarts() int { return max(1, f.p.spec.Restarts) }

// MaxIterations implements clustering.Family.
func (f vectorFamily) MaxIterations() int { return f.p.spec.MaxIterations }

// Method implements clustering.Family.
func (f vectorFamily) Method(restart int, _ *Lane, _ Observer) Method {
	return f.p.newMethod(f.x, restart)
}

// Conclude implements clustering.Family.
func (f vectorFamily) Conclude(r *Result) {
	r.Warnings = slices.Concat(f.p.Warnings, r.Warnings)
	r.ObjectiveName = f.p.options.Algorithm.String()
	r.Satisfaction = f.p.Constraints.Satisfaction(r.Labels)
}
