package clustering

import (
	"context"
	"slices"
)

// RunVector is the loop of the vector family: every restart from its start until it stops, one after
// the other; the best final value wins, ties by restart number. When the context ends, the labels so far
// are the result, if there are any.
func RunVector(ctx context.Context, p *VectorProblem, x VectorExecutor, o Observer) (*Result, error) {
	for _, notice := range p.Warnings {
		o.Notice(notice)
	}
	o.Phase(PhaseInitialise)
	var best *attempt
	restarts := max(1, p.spec.Restarts)
	for restart := range restarts {
		if restarts > 1 {
			o.Restart(restart)
		}
		a := &attempt{restart: restart}
		if err := a.run(ctx, p.newMethod(x, restart), p.spec.MaxIterations, o); err != nil && ctx.Err() == nil {
			return nil, err
		}
		if a.result != nil && complete(a.result.Labels) && (best == nil || a.better(best)) {
			best = a
		}
		if ctx.Err() != nil {
			break
		}
	}
	if best == nil {
		return nil, ctx.Err()
	}
	result := best.result
	if ctx.Err() != nil {
		result.StopReason = StopCancelled
	}
	result.Warnings = slices.Concat(p.Warnings, result.Warnings)
	result.ObjectiveName = p.options.Algorithm.String()
	result.Satisfaction = p.Constraints.Satisfaction(result.Labels)
	result.ClusterSizes = make([]int, p.spec.K)
	for _, c := range result.Labels {
		result.ClusterSizes[c]++
	}
	return result, nil
}

// complete tells whether every point has a label: a run that is cancelled before its first assignment
// has not.
func complete(labels []int32) bool {
	for _, c := range labels {
		if c < 0 {
			return false
		}
	}
	return true
}
