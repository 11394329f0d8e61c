package local_test

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// K-means on six points of a line.
func ExampleSolve() {
	points, err := dataset.NewPoints(6, 1, []float64{1, 2, 3, 11, 12, 13})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := local.Solve(context.Background(), points, clustering.Spec{
		K: 2, Seed: 1, MaxIterations: 100,
		Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
	}, 1, clustering.NopObserver{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("labels:", result.Labels)
	fmt.Println("centroids:", result.Model.Centroids)
	fmt.Println("objective:", result.Objective, result.StopReason)
	// Output:
	// labels: [0 0 0 1 1 1]
	// centroids: [2 12]
	// objective: 4 CONVERGED
}

// Kernel k-means that is told that point 3, in the middle, belongs with the points on the right and not with those
// on the left.
func ExampleSolve_constraints() {
	points, err := dataset.NewPoints(7, 1, []float64{0, 1, 2, 4, 7, 8, 9})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := clustering.Spec{
		K: 2, MaxIterations: 100, Initialization: clustering.Initialization{
			Start: clustering.StartLabels, Labels: []int32{0, 0, 0, 0, 1, 1, 1},
		},
		Algorithm: &kernelkmeans.Options{Rho: 3},
	}
	for _, constraints := range [][]constraint.Constraint{nil, {
		{I: 3, J: 4, Kind: constraint.MustLink, Weight: 1, Weighted: true},
		{I: 3, J: 2, Kind: constraint.CannotLink, Weight: 1, Weighted: true},
	}} {
		spec.Supervision.Constraints = constraints
		result, err := local.Solve(context.Background(), points, spec, 1, clustering.NopObserver{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("labels %v, %d of %d constraints satisfied\n", result.Labels, result.Satisfaction.Satisfied(),
			result.Satisfaction.Total)
	}
	// Output:
	// labels [0 0 0 0 1 1 1], 0 of 0 constraints satisfied
	// labels [0 0 0 1 1 1 1], 2 of 2 constraints satisfied
}
