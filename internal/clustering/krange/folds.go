package krange

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// folds is supervision that each k is compared by.
type folds struct {
	*heldout.Supervision
	count int
}

// newFolds divides the supervision of a job; nil: there is too little of it, or pairs of one kind alone, to which one
// cluster or many would always answer best.
func newFolds(n int, spec clustering.Spec) (*folds, error) {
	if len(spec.Constraints)+len(spec.Seeds) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to divide
	}
	spec.Entail = false
	set, err := clustering.NewConstraintSet(n, spec, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	f := &folds{heldout.New(set, spec.Seeds, spec.MaxK, auto.DefaultFolds, spec.Random(clustering.StreamFolds)), auto.DefaultFolds}
	if must, cannot := f.Kinds(); must == 0 || cannot == 0 || must+cannot < heldout.EnoughPairs {
		return nil, nil //nolint:nilnil // it is too little
	}
	return f, nil
}

// agreement is how well the job agrees with supervision that it is not shown. auto has compared its ways by that already;
// any other algorithm is run once more for each fold.
func (r *run) agreement(ctx context.Context, spec clustering.Spec, result *clustering.Result) (*float64, error) {
	if result.Choice != nil {
		for _, tried := range result.Choice.Tried {
			if tried.Method == result.Choice.Chosen {
				agreement := tried.Agreement()
				return &agreement, nil
			}
		}
	}
	var labels [][]int32
	for fold := range r.folds.count {
		found, err := snapshot.Once(ctx, fmt.Sprintf("fold %d", fold), (*snapshot.Writer).Int32s,
			func(reader *snapshot.Reader) []int32 { return reader.Labels(len(result.Labels), spec.K) },
			func(ctx context.Context) ([]int32, error) {
				found, err := r.solver.Solve(ctx, r.folds.Spec(spec, fold), clustering.NopObserver{})
				if err != nil {
					return nil, err
				}
				return found.Labels, ctx.Err()
			})
		if err != nil {
			return nil, err
		}
		labels = append(labels, found)
	}
	agreement := r.folds.Agreement(r.folds.Right(labels...))
	return &agreement, nil
}
