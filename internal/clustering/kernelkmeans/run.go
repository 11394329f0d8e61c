package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// job is a problem with its executor. It implements clustering.Job.
type job struct {
	p     *Problem
	x     Executor
	setup *Setup // set by Begin
}

// Run solves a problem.
func Run(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*clustering.Result, error) {
	return clustering.Run(ctx, &job{p: p, x: x}, o)
}

func (j *job) Notices() []clustering.Notice { return j.p.Warnings }

func (j *job) Begin(ctx context.Context, o clustering.Observer) (clustering.Setup, error) {
	p, err := j.p.withUnconstrained(ctx, j.x)
	if err != nil {
		return nil, err
	}
	f, err := NewSetup(ctx, p, j.x, o)
	if err != nil {
		return nil, err
	}
	if p.unconstrained != nil {
		answer, err := f.assignmentOf(ctx, p.unconstrained.Labels)
		if err != nil {
			return nil, err
		}
		f.unconstrainedValue = f.matrix.value(answer)
		f.unconstrainedReported = f.matrix.objective(answer)
	}
	f.WarnIsolated(o)
	j.setup = f
	if p.Restarts() < j.p.spec.Restarts {
		warn(o, "RESTARTS_ARE_EQUAL",
			"the start does not depend on chance, so all restarts would be the same run; it runs once")
	}
	return f, nil
}

// Runs implements clustering.Setup.
func (s *Setup) Runs() clustering.Runs {
	return clustering.Runs{K: s.p.spec.K, Restarts: s.p.Restarts(), MaxIterations: s.p.spec.MaxIterations, Keep: true,
		AllNotices: true, Lanes: s.server.lanes, Threads: 1} // because restarts share the shift
}

// NewStepper implements clustering.Setup.
func (s *Setup) NewStepper(restart int, l *clustering.Lane, o clustering.Observer) clustering.Stepper {
	return &method{
		setup: s, p: s.p, matrix: s.matrix, x: lane{l, s.server}, o: o, restart: restart,
		sigma: s.p.ToUnit(s.p.options.Sigma),
	}
}

// FillResult implements clustering.Setup.
func (s *Setup) FillResult(r *clustering.Result) {
	r.ObjectiveName = s.p.Objective.String()
	r.Kernel.Matrix = &s.p.Matrix
	r.Units = s.p.Units
	r.Satisfaction = s.p.Constraints.Satisfaction(r.Labels)
}

// rowsPerLaneK bounds the lanes to n / (16 k), so that their sums take at most an eighth of the memory of a stored
// matrix: a row has 8 bytes for each of lanes * k clusters, and 4 for each of n columns.
const rowsPerLaneK = 16

// Lanes returns how many restarts run concurrently and share every pass over the matrix. The answer does not depend on
// it. On a graph there is only one: a sweep reads little more than the edges of the points that moved, so there is
// nothing to share.
func (p *Problem) Lanes() int {
	if p.Matrix.Function == kernel.Adjacency {
		return 1
	}
	lanes := min(p.Restarts(), kernel.MaxLanes, p.n/(rowsPerLaneK*p.spec.K))
	if p.MaxLanes > 0 {
		lanes = min(lanes, p.MaxLanes)
	}
	return max(1, lanes)
}
