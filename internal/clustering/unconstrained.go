package clustering

import (
	"context"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Unconstrained is the answer without constraints. It serves as a start and provides the unit of constraint weights.
type Unconstrained struct {
	Labels []int32
	// Cost is what the unit follows from: the distortion of all points in k-means, the least cost of merging two
	// clusters in kernel k-means.
	Cost float64
}

// FindUnconstrained runs a job without constraints on n points in k clusters and computes the cost of its answer,
// unless an earlier process has.
func FindUnconstrained(
	ctx context.Context, j Job, n, k int, cost func(context.Context, *Result) (float64, error),
) (Unconstrained, error) {
	encode := func(w *snapshot.Writer, u Unconstrained) {
		w.Int32s(u.Labels)
		w.Float(u.Cost)
	}
	decode := func(r *snapshot.Reader) Unconstrained {
		u := Unconstrained{Labels: r.Labels(n, k), Cost: r.Float()}
		r.Check(Complete(u.Labels))
		return u
	}
	return snapshot.Once(ctx, "unconstrained", encode, decode, func(ctx context.Context) (Unconstrained, error) {
		answer, err := Run(ctx, j, NopObserver{})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Unconstrained{}, err
		}
		u := Unconstrained{Labels: answer.Labels}
		u.Cost, err = cost(ctx, answer)
		return u, err
	})
}
