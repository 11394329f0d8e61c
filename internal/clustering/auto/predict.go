package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/dataset"
)

// voters is how many of the nearest points of a run decide about a new one.
const voters = 10

// Predict gives new points the labels of the points of a run by neighbors that they are nearest to, in the run's own
// space.
func Predict(ctx context.Context, space clustering.Space, trained dataset.Dataset, labels []int32, fresh dataset.Dataset, threads int) ([]int32, error) {
	scale := clustering.ScaleNone
	if space == clustering.SpaceStandardizedNeighbors {
		scale = clustering.ScaleZscore
	}
	return knn.Predict(ctx, scale, voters, trained, labels, fresh, threads)
}
