package centroid

import (
	"context"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/vector"
)

// VectorExecutor runs one operation of the vector family over every row, wherever the rows live. It has
// one labeling. An operation either succeeds over all rows or returns an error that ends the run; losing
// a worker on the way is the executor's own affair.
type Executor interface {
	// Load sets all labels (-1: none) and returns the exact sums of the clusters' rows.
	Load(ctx context.Context, labels []int32) ([]float64, error)
	// Update moves points from cluster to cluster and returns the exact sums.
	Update(ctx context.Context, moves []kernel.Move) ([]float64, error)
	// Assign finds the points that are nearer to another centroid, in row order. Points in skip, which
	// ascend, stay.
	Assign(ctx context.Context, m *vector.Model, skip []int32) ([]kernel.Move, error)
	// Distances are those of the given points, which ascend, to every centroid, row after row.
	Distances(ctx context.Context, m *vector.Model, points []int32) ([]float64, error)
	// Scatter is the deviation of the labelled points from their centroids, added up tile by tile.
	Scatter(ctx context.Context, m *vector.Model, kind vector.Scatter) ([]float64, error)
	// Farthest finds the point farthest from its centroid, not in skip, among clusters that have at
	// least two points by the given counts.
	Farthest(ctx context.Context, m *vector.Model, skip, counts []int32) (kernel.Candidate, error)
	// Nearest is how far every point is from the nearest centroid.
	Nearest(ctx context.Context, m *vector.Model) ([]float64, error)
}
