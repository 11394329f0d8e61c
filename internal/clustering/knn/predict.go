package knn

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// defaultVoters is the number of nearest neighbors that vote on the label of a new point.
const defaultVoters = 10

// Predict labels new points by a vote among their nearest neighbors in a labeled data set, in the units of the scale.
// If voters is 0, ten vote. Ties go to the nearest neighbor's label. A sparse point with no neighbor at all joins the
// largest cluster.
func Predict(
	ctx context.Context, scale clustering.Scale, voters int, trained dataset.Dataset, labels []int32, fresh dataset.Dataset, threads int,
) ([]int32, error) {
	voters = cmp.Or(voters, defaultVoters)
	trained, fresh, err := inUnits(scale, trained, fresh)
	if err != nil {
		return nil, err
	}
	search, err := neighbor.NewSearch(trained)
	if err != nil {
		return nil, err
	}
	nearest, err := search.Of(ctx, fresh, voters, threads)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, slices.Max(labels)+1)
	for _, label := range labels {
		sizes[label]++
	}
	largest, count := int32(slices.Index(sizes, slices.Max(sizes))), min(voters, len(labels))
	predicted, votes := make([]int32, fresh.Rows()), make([]int, len(sizes))
	for i := range predicted {
		clear(votes)
		predicted[i] = largest
		near := nearest[i*count : (i+1)*count]
		for _, j := range near {
			if j != neighbor.None {
				votes[labels[j]]++
			}
		}
		best := 0
		for _, j := range near { // nearest first, so that ties go to the nearest
			if j != neighbor.None && votes[labels[j]] > best {
				predicted[i], best = labels[j], votes[labels[j]]
			}
		}
	}
	return predicted, nil
}

// inUnits converts old and new points to the same units. It fails if they cannot be compared.
func inUnits(scale clustering.Scale, trained, fresh dataset.Dataset) (old, later dataset.Dataset, err error) {
	if trained.Kind() != dataset.KindPoints && trained.Kind() != dataset.KindSparsePoints {
		return nil, nil, fault.New(fault.FailedPrecondition, "CANNOT_PREDICT",
			"the job clustered a %v, which has no coordinates to compare new points by; cluster old and new points together", trained.Kind())
	}
	if fresh.Kind() != trained.Kind() {
		return nil, nil, fault.Invalid("OTHER_DATA", "the job clustered %v, but the new data is of the kind %v; predict needs the same kind", trained.Kind(), fresh.Kind())
	}
	if before, after := columnsOf(trained), columnsOf(fresh); before != after {
		return nil, nil, fault.Invalid("SIZE_MISMATCH", "the new points have %d columns, but the job clustered points with %d", after, before)
	}
	trained, units, _, err := clustering.InUnits(trained, scale)
	if err != nil {
		return nil, nil, err
	}
	fresh, err = units.Apply(fresh)
	return trained, fresh, err
}

func columnsOf(data dataset.Dataset) int {
	if sparse, ok := data.(*dataset.SparsePoints); ok {
		return sparse.D
	}
	return data.(*dataset.Points).D
}
