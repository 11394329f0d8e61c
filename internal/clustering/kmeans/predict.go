package kmeans

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// Predict assigns every row of the data to the nearest centroid, the lowest of equally near ones. Rows are prepared and
// compared as in a run, so the points of a converged run get the same labels, except those that constraints or seeds
// keep elsewhere. The centroids are means of points; package predict knows all models.
func Predict(ctx context.Context, m *model.Model, data dataset.Dataset, threads int) (*clustering.Prediction, error) {
	data, err := m.Units.Apply(data)
	if err != nil {
		return nil, err
	}
	centroids, err := centroidsInUnits(m)
	if err != nil {
		return nil, fmt.Errorf("the centroids of the model: %w", err)
	}
	spec, err := vector.NewRowSpec(data, preparations[m.Distortion])
	if err != nil {
		return nil, err
	}
	if spec.Columns != m.D {
		return nil, invalid.New(invalid.ModelColumns, "columns", spec.Columns, "fitted", m.D)
	}
	source, err := vector.NewSource(spec, data)
	if err != nil {
		return nil, err
	}
	return Assign(ctx, vector.NewShard(source, threads), spec.Rows, preparedModel(m, centroids, spec.Mean))
}

// centroidsInUnits returns the centroids of a model in the units that rows are compared in.
func centroidsInUnits(m *model.Model) ([]float64, error) {
	if m.Units == nil || m.Distortion != metric.SquaredEuclidean {
		return m.Centroids, nil
	}
	scaled, err := m.Units.Apply(&dataset.Points{N: m.K, D: m.D, Values: m.Centroids})
	if err != nil {
		return nil, err
	}
	return scaled.(*dataset.Points).Values, nil
}

// Assign labels all rows of a shard by their nearest centroids.
func Assign(ctx context.Context, shard *vector.Shard, rows int, m *vector.Model) (*clustering.Prediction, error) {
	const step = 1
	tiles := partition.AllTiles(rows)
	labels := clustering.Unassigned(rows)
	if err := shard.Build(ctx, tiles); err != nil {
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
	own, next, err := distancesOf(ctx, &local{shard: shard, tiles: tiles}, m, labels)
	return clustering.Predicted(labels, clustering.MeasureDistortion, own, next), err
}
