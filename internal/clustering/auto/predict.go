package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// voters is the number of nearest neighbors that vote on the label of a new point.
const voters = 10

// Predict labels new points by their nearest neighbors among labeled points, in the units of the scale.
func Predict(ctx context.Context, scale clustering.Scale, trained dataset.Dataset, labels []int32, fresh dataset.Dataset, threads int) ([]int32, error) {
	return knn.Predict(ctx, scale, voters, trained, labels, fresh, threads)
}
