package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// Predict gives every row of the data the cluster of the nearest centroid, of equally near ones the lowest.
// Rows are prepared and compared as in a run, so that the points of a run that converged get their labels
// again, except those that constraints or seeds keep elsewhere.
func Predict(ctx context.Context, m *clustering.Model, data dataset.Dataset, threads int) (*clustering.Prediction, error) {
	if m.Landmarks != nil {
		return predictByLandmarks(ctx, m, data, threads)
	}
	centroids, data, err := inUnits(m, data)
	if err != nil {
		return nil, err
	}
	spec, err := vector.NewRowSpec(data, preparations[m.Distortion])
	if err != nil {
		return nil, err
	}
	if spec.Columns != m.D {
		return nil, fault.Invalid("SIZE_MISMATCH", "the points have %d columns; the model was made of points of %d", spec.Columns, m.D)
	}
	source, err := vector.NewSource(spec, data)
	if err != nil {
		return nil, err
	}
	return assignAll(ctx, vector.NewShard(source, threads), spec.Rows, preparedModel(m, centroids, spec.Mean))
}

// inUnits gives the centroids and the rows of the data in the units of a model.
func inUnits(m *clustering.Model, data dataset.Dataset) ([]float64, dataset.Dataset, error) {
	rows, err := m.Units.Apply(data)
	if err != nil || m.Units == nil || m.Distortion != metric.SquaredEuclidean {
		return m.Centroids, rows, err
	}
	centroids, err := m.Units.Apply(&dataset.Points{N: m.K, D: m.D, Values: m.Centroids})
	if err != nil {
		return nil, nil, fault.Wrap(err, "the centroids of the model")
	}
	return centroids.(*dataset.Points).Values, rows, nil
}

// shardRows are all rows of a shard.
type shardRows struct {
	*vector.Shard
	tiles []int
}

// NearestTwo implements measurer.
func (s shardRows) NearestTwo(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	return s.Shard.NearestTwo(ctx, s.tiles, queries)
}

// Distances implements measurer.
func (s shardRows) Distances(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	return s.Shard.Distances(ctx, s.tiles, queries)
}

// assignAll labels points that have no label yet.
func assignAll(ctx context.Context, shard *vector.Shard, rows int, m *vector.Model) (*clustering.Prediction, error) {
	const step = 1
	tiles, labels := partition.AllTiles(rows), clustering.Unassigned(rows)
	if _, err := shard.Build(ctx, tiles); err != nil {
		return nil, err
	}
	if err := shard.Load(step, m.Clusters, labels); err != nil {
		return nil, err
	}
	moves, err := shard.Assign(ctx, tiles, step, []vector.Query{{Model: m}})
	if err != nil {
		return nil, err
	}
	for _, move := range moves {
		labels[move.Point] = move.To
	}
	own, next, err := distancesOf(ctx, shardRows{shard, tiles}, m, labels)
	return clustering.Predicted(labels, clustering.MeasureDistortion, own, next), err
}
