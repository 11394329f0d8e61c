// Package predict assigns new points to the clusters of a model.
package predict

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// ByModel assigns every row of the data to a cluster: by landmarks, and trees if there are any, by a mixture, or by the
// nearest centroid. Rows are compared as in the run of the model, so that its own rows get their labels again, except
// those that constraints or seeds keep elsewhere.
func ByModel(ctx context.Context, m *model.Model, data dataset.Dataset, threads int) (*clustering.Prediction, error) {
	switch {
	case m.Landmarks != nil:
		found, err := byLandmarks(ctx, m, data, threads)
		return found, invalid.ShiftRows(err, -m.Landmarks.Points.N)
	case m.Mixture != nil:
		return byMixture(ctx, m, data, threads)
	}
	return kmeans.Predict(ctx, m, data, threads)
}

// pointsFor returns the data as the dense points that a model needs.
func pointsFor(m *model.Model, data dataset.Dataset) (*dataset.Points, error) {
	points, dense := data.(*dataset.Points)
	if !dense {
		return nil, invalid.New(invalid.ModelOfPoints, "kind", data.Kind())
	}
	if points.D != m.Columns() {
		return nil, invalid.New(invalid.ModelColumns, "columns", points.D, "fitted", m.Columns())
	}
	return points, nil
}

// byMixture assigns every point to its most likely cluster.
func byMixture(ctx context.Context, m *model.Model, data dataset.Dataset, threads int) (*clustering.Prediction, error) {
	points, err := pointsFor(m, data)
	if err != nil {
		return nil, err
	}
	scaled, err := m.Units.Apply(points)
	if err != nil {
		return nil, err
	}
	scores, err := m.Mixture.Score(ctx, scaled.(*dataset.Points), nil, threads)
	if err != nil {
		return nil, err
	}
	found := clustering.Predicted(scores.Labels, clustering.MeasureDistortion, scores.Own, scores.Next)
	found.Rows.Posterior, found.Rows.Confidence = true, scores.Posterior
	return found, nil
}

// byLandmarks assigns every point to the centroid nearest to its features. Landmarks and new points are combined
// into one data set, because landmarks must be among the points that features are computed for. The rows of its faults
// are those of this data set.
func byLandmarks(ctx context.Context, m *model.Model, data dataset.Dataset,
	threads int) (*clustering.Prediction, error) {
	landmarks := m.Landmarks.Points
	points, err := pointsFor(m, data)
	if err != nil {
		return nil, err
	}
	together, err := dataset.NewPoints(landmarks.N+points.N, landmarks.D,
		slices.Concat(landmarks.Values, points.Values))
	if err != nil {
		return nil, err
	}
	all, err := m.Units.Apply(together)
	if err != nil {
		return nil, err
	}
	features := &kernel.FeatureSpec{Matrix: m.Landmarks.Matrix, Landmarks: choose.All[int32](landmarks.N), Rank: m.D,
		Projection: m.Landmarks.Projection}
	features.Matrix.Rows, features.Matrix.Mean = together.N, nil
	if m.Landmarks.Centered {
		values := all.(*dataset.Points).Values[:landmarks.N*landmarks.D]
		features.Matrix.Mean = kernel.ColumnMeans(&dataset.Points{N: landmarks.N, D: landmarks.D, Values: values})
	}
	bounds, err := kernel.FindBounds(features.Matrix, all)
	if err != nil {
		return nil, err
	}
	rows := vector.NewFeatureSpec(features, bounds.Entry)
	source, err := vector.NewSource(rows, all)
	if err != nil {
		return nil, err
	}
	nearest := &vector.Model{Distortion: m.Distortion, Clusters: m.K, Centroids: m.Centroids}
	if m.Forest != nil {
		return byForest(ctx, m, vector.NewShard(source, threads), nearest, points)
	}
	found, err := kmeans.Assign(ctx, vector.NewShard(source, threads), rows.Rows, nearest)
	if err != nil {
		return nil, err
	}
	found.Labels = found.Labels[landmarks.N:]
	found.Rows.Distance = found.Rows.Distance[landmarks.N:]
	found.Rows.Margin = found.Rows.Margin[landmarks.N:]
	return found, nil
}

// byForest assigns points, which follow the landmarks in a shard, to the class with the largest score, by
// landmarks and by trees together.
func byForest(
	ctx context.Context, m *model.Model, shard *vector.Shard, ideal *vector.Model, points *dataset.Points,
) (*clustering.Prediction, error) {
	first := m.Landmarks.Points.N
	tiles := partition.AllTiles(first + points.N)
	rows := make([]int32, points.N)
	if err := shard.Build(ctx, tiles); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i] = int32(first + i)
	}
	distances, err := shard.Distances(ctx, tiles, []vector.Query{{Model: ideal, Points: rows}})
	if err != nil {
		return nil, err
	}
	classes := make([]int, m.K) // of the clusters
	for c := range classes {
		scores := m.Centroids[c*m.D : (c+1)*m.D]
		classes[c] = slices.Index(scores, slices.Max(scores))
	}
	labels := make([]int32, points.N)
	own := make([]float64, points.N)
	next := make([]float64, points.N)
	scores := make([]float64, m.K)
	shares := make([]float64, m.K)
	for i := range labels {
		model.ClassScores(distances[0][i*m.K:(i+1)*m.K], scores)
		m.Forest.Trees.Score(points.Row(i), shares)
		for c, g := range classes {
			scores[c] += m.Forest.Score(shares[g], m.K)
		}
		labels[i] = int32(slices.Index(scores, slices.Max(scores)))
		own[i], next[i] = model.FromIdealScores(scores, int(labels[i]))
	}
	return clustering.Predicted(labels, clustering.MeasureClassScores, own, next), nil
}
