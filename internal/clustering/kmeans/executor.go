package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// Step is what an executor did in one step.
type Step struct {
	// Moves ascend within each lane, lane after lane.
	Moves []labeling.Move
	// Before and After are, for each query, the distances of the labeled points from their centroids, added up tile by
	// tile, before and after the moves.
	Before, After []float64
}

// Clusters are the labels of all lanes of an executor and what it keeps about them. They alias its memory.
type Clusters struct {
	labeling.Shape           // the numbers of points, clusters and lanes
	Labels         []int32   // lane after lane, numbered as by labeling.Shape; initially all are -1
	Sums           []float64 // the exact sums of the clusters' rows, lane after lane
}

// Executor runs one operation over every row, wherever the rows live. It keeps several labelings of the rows, its
// lanes, and answers queries of several lanes, which must ascend, in one pass over the rows. An operation either
// succeeds over all rows or returns an error that ends the run; executors handle lost workers themselves.
type Executor interface {
	Clusters() Clusters
	// Update moves points between clusters, and changes the labels and the sums. Moves ascend within each lane, lane
	// after lane.
	Update(ctx context.Context, moves []labeling.Move) error
	// Step moves points that are nearer to another centroid than to their own, without the query's points, and changes
	// the labels and the sums. It does the work of Scatter, Assign, Update and Scatter again in one pass over the
	// rows.
	Step(ctx context.Context, queries []vector.Query) (*Step, error)
	// Assign returns the moves of points that are nearer to another centroid than to their own, each lane in row order,
	// without the query's points.
	Assign(ctx context.Context, queries []vector.Query) ([]labeling.Move, error)
	// Farthest returns, for each query, the point farthest from its centroid, without the query's points, among
	// clusters that have at least two points by the query's counts.
	Farthest(ctx context.Context, queries []vector.Query) ([]labeling.Candidate, error)
	// Measure returns what measures distances of the rows.
	Measure() Measurer
}

// Measurer measures distances of an executor's rows from the centroids of queries. It changes no labels.
type Measurer interface {
	// Nearest returns, for each query, the distance of every point to the nearest centroid.
	Nearest(ctx context.Context, queries []vector.Query) ([][]float64, error)
	// NearestTwo returns, for each query, the two centroids nearest to every point.
	NearestTwo(ctx context.Context, queries []vector.Query) ([]NearestTwo, error)
	// Distances returns, for each query, those of its points to every centroid: k values per point.
	Distances(ctx context.Context, queries []vector.Query) ([][]float64, error)
	// Scatter returns, for each query, the deviation of the labeled points from their centroids, added up tile by tile.
	Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error)
}

// NearestTwo tells, for every point, how far the nearest centroid and the second nearest are.
type NearestTwo struct{ values []float64 } // as vector.Shard.NearestTwo returns them

// NewNearestTwo converts the lists that vector.Shard.NearestTwo returns.
func NewNearestTwo(lists [][]float64) []NearestTwo {
	found := make([]NearestTwo, len(lists))
	for i, values := range lists {
		found[i] = NearestTwo{values}
	}
	return found
}

// Of returns the number of the centroid nearest to a point, the lowest of equally near ones, and the distances to it
// and to the second nearest.
func (n NearestTwo) Of(point int) (nearest int32, first, second float64) {
	row := n.values[point*vector.PerNearestTwo:][:vector.PerNearestTwo]
	return int32(row[0]), row[1], row[2]
}
