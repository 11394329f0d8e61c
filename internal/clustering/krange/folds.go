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

// newFolds divides the supervision of a job into folds. It returns nil if there is too little of it, or only pairs of
// one kind, which a single cluster or very many would always satisfy best.
func newFolds(n int, spec clustering.Spec) (*heldout.Supervision, error) {
	if len(spec.Constraints)+len(spec.Seeds) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to divide
	}
	spec.Entail = false
	set, err := clustering.NewConstraintSet(n, spec, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	s := heldout.New(set, spec.Seeds, spec.MaxK, auto.DefaultFolds, spec.Random(clustering.StreamFolds))
	if must, cannot := s.Kinds(); must == 0 || cannot == 0 || must+cannot < heldout.EnoughPairs {
		return nil, nil //nolint:nilnil // there is too little
	}
	return s, nil
}

// agreement returns how well the job agrees with held-out supervision. auto has already compared its methods that way;
// other algorithms run once more for each fold.
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
	for fold := range auto.DefaultFolds {
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
