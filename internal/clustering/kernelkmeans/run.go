package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// job is a problem on its executor.
type job struct {
	p *Problem
	x Executor
}

// RunKernel runs a problem of kernel k-means.
func Run(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*clustering.Result, error) {
	return clustering.Run(ctx, job{p, x}, o)
}

// Notices implements clustering.Job.
func (j job) Notices() []clustering.Notice { return j.p.Warnings }

// Begin implements clustering.Job.
func (j job) Begin(ctx context.Context, o clustering.Observer) (clustering.Family, error) {
	f, err := NewFamily(ctx, j.p, j.x, o)
	if err == nil && f.Restarts() < j.p.spec.Restarts {
		f.Warn(o, "RESTARTS_ARE_EQUAL", "the start does not depend on chance, so all restarts would be the same run; it runs once")
	}
	return f, err
}

// K implements clustering.Family.
func (f *Family) K() int { return f.p.spec.K }

// Restarts implements clustering.Family.
func (f *Family) Restarts() int { return f.p.restarts() }

// Lanes implements clustering.Family.
func (f *Family) Lanes() int { return f.lanes }

// MaxIterations implements clustering.Family.
func (f *Family) MaxIterations() int { return f.p.spec.MaxIterations }

// Method implements clustering.Family.
func (f *Family) Method(restart int, l *clustering.Lane, o clustering.Observer) clustering.Method {
	return &method{Family: f, x: lane{l}, o: o, restart: restart, rng: f.p.Random(uint64(restart)), sigma: f.p.options.Sigma}
}

// Conclude implements clustering.Family.
func (f *Family) Conclude(r *clustering.Result) {
	r.Warnings, r.ObjectiveName, r.Matrix = f.notices, f.p.Objective.String(), &f.p.Matrix
	r.Satisfaction = f.p.Constraints.Satisfaction(r.Labels)
}

// restarts is how many runs there will be: starts without randomness are all the same one.
func (p *Problem) restarts() int {
	if !p.start().Random() {
		return 1
	}
	return max(1, p.spec.Restarts)
}

// rowsPerLaneK bounds the lanes so that all their sums take at most an eighth of a stored matrix: a row
// has 8 bytes for each of lanes * k clusters, and 4 for each of n columns.
const rowsPerLaneK = 16

// Lanes is how many restarts run side by side, sharing each reading of the matrix. The answer does not
// depend on it. A sweep of a graph reads little more than what its own moves touch: nothing to share.
func (p *Problem) Lanes() int {
	if p.Matrix.Function == kernel.Adjacency {
		return 1
	}
	lanes := min(p.restarts(), kernel.MostLanes, p.n/(rowsPerLaneK*p.spec.K))
	if p.MostLanes > 0 {
		lanes = min(lanes, p.MostLanes)
	}
	return max(1, lanes)
}
