package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// voters is how many of the nearest points of a run decide about a new one.
const voters = 10

// Predict gives new points the labels of the points of a run by neighbors that they are nearest to, in the units of
// the run.
func Predict(ctx context.Context, scale clustering.Scale, trained dataset.Dataset, labels []int32, fresh dataset.Dataset, threads int) ([]int32, error) {
	return knn.Predict(ctx, scale, voters, trained, labels, fresh, threads)
}
