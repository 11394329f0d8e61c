package centroid

import (
	"context"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/vector"
)

// Executor runs one operation over every row, wherever the rows live, and keeps one labeling. An operation
// either succeeds over all rows or returns an error that ends the run; an executor deals with lost workers
// itself.
type Executor interface {
	// Load sets all labels (-1: none) and returns the exact sums of the clusters' rows.
	Load(ctx context.Context, labels []int32) ([]float64, error)
	// Update moves points from cluster to cluster and returns the exact sums.
	Update(ctx context.Context, moves []kernel.Move) ([]float64, error)
	// Assign finds the points that are nearer to another centroid than to their own, in row order, except those in
	// skip, which is ascending.
	Assign(ctx context.Context, m *vector.Model, skip []int32) ([]kernel.Move, error)
	// Distances are those of the given points, which are ascending, to every centroid: k values for each point.
	Distances(ctx context.Context, m *vector.Model, points []int32) ([]float64, error)
	// Scatter is the deviation of the labeled points from their centroids, added up tile by tile.
	Scatter(ctx context.Context, m *vector.Model, kind vector.ScatterKind) ([]float64, error)
	// Farthest finds the point farthest from its centroid, not in skip, among clusters that have at
	// least two points by the given counts.
	Farthest(ctx context.Context, m *vector.Model, skip, counts []int32) (kernel.Candidate, error)
	// Nearest is the distance of every point to the nearest centroid.
	Nearest(ctx context.Context, m *vector.Model) ([]float64, error)
}
