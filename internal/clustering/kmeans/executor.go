package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// Executor runs one operation over every row, wherever the rows live. It keeps several labelings of the rows, its
// lanes, and answers queries of several lanes, which ascend, in one reading of the rows. An operation either succeeds
// over all rows or returns an error that ends the run; an executor deals with lost workers itself.
type Executor interface {
	// Shape is how many points, clusters and lanes there are.
	Shape() labeling.Shape
	// Labels are those of all lanes, lane after lane, as labeling.Shape numbers them; at first all are -1.
	Labels() []int32
	// Sums are the exact sums of the clusters' rows, lane after lane.
	Sums() []float64
	// Update moves points from cluster to cluster: it changes the labels and the sums. Moves ascend within each lane,
	// lane after lane.
	Update(ctx context.Context, moves []kernel.Move) error
	// Assign finds the points that are nearer to another centroid than to their own: those of each lane in row order,
	// without the query's points.
	Assign(ctx context.Context, queries []vector.Query) ([]kernel.Move, error)
	// Distances are, for each query, those of its points to every centroid: k values for each point.
	Distances(ctx context.Context, queries []vector.Query) ([][]float64, error)
	// Scatter is, for each query, the deviation of the labeled points from their centroids, added up tile by tile.
	Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error)
	// Farthest finds, for each query, the point farthest from its centroid, without the query's points, among clusters
	// that have at least two points by the query's counts.
	Farthest(ctx context.Context, queries []vector.Query) ([]kernel.Candidate, error)
	// Nearest is, for each query, the distance of every point to the nearest centroid.
	Nearest(ctx context.Context, queries []vector.Query) ([][]float64, error)
	// NearestTwo is, for each query, three values for every point: the number of the nearest centroid, of equally near ones
	// the lowest, and the distances to it and to the second nearest.
	NearestTwo(ctx context.Context, queries []vector.Query) ([][]float64, error)
}
