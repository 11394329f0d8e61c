package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// predictByLandmarks assigns every point to the centroid nearest to its features. Landmarks and new points are combined
// into one data set, because landmarks must be among the points that features are computed for.
func predictByLandmarks(ctx context.Context, m *clustering.Model, data dataset.Dataset, threads int) (*clustering.Prediction, error) {
	landmarks := m.Landmarks.Points
	points, dense := data.(*dataset.Points)
	if !dense {
		return nil, fault.Invalid("OTHER_DATA", "the model was made of dense points; the new data set is another kind of data (%v)", data.Kind())
	}
	if points.D != landmarks.D {
		return nil, fault.Invalid("SIZE_MISMATCH", "the points have %d columns; the model was made of points of %d", points.D, landmarks.D)
	}
	together, err := dataset.NewPoints(landmarks.N+points.N, landmarks.D, slices.Concat(landmarks.Values, points.Values))
	if err != nil {
		return nil, err
	}
	all, err := m.Units.Apply(together)
	if err != nil {
		return nil, err
	}
	features := &kernel.FeatureSpec{Matrix: m.Landmarks.Matrix, Landmarks: make([]int32, landmarks.N), Rank: m.D, Projection: m.Landmarks.Projection}
	features.Matrix.Rows, features.Matrix.Mean = together.N, nil
	if m.Landmarks.Centered {
		values := all.(*dataset.Points).Values[:landmarks.N*landmarks.D]
		features.Matrix.Mean = kernel.ColumnMeans(&dataset.Points{N: landmarks.N, D: landmarks.D, Values: values})
	}
	for at := range features.Landmarks {
		features.Landmarks[at] = int32(at)
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
	found, err := assignAll(ctx, vector.NewShard(source, threads), rows.Rows, nearest)
	if err != nil {
		return nil, err
	}
	found.Labels = found.Labels[landmarks.N:]
	found.Rows.Distance, found.Rows.Margin = found.Rows.Distance[landmarks.N:], found.Rows.Margin[landmarks.N:]
	return found, nil
}
