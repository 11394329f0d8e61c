package kmeans_test

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// A model assigns points that it was not made of.
func ExamplePredict() {
	m := &model.Model{
		Distortion: metric.SquaredEuclidean, K: 2, D: 2,
		Centroids: []float64{0, 0, 10, 10}, // row by row
		Metric:    metric.NewIdentity(2),
	}
	points, err := dataset.NewPoints(3, 2, []float64{
		1, 2,
		9, 8,
		0, -3,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := kmeans.Predict(context.Background(), m, points, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Labels)
	// Output: [0 1 0]
}
