package dataset_test

import (
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

func ExampleNewPoints() {
	points, err := dataset.NewPoints(3, 2, []float64{0, 0, 1, 0, 0, 2})
	fmt.Println(points.Rows(), points.Kind(), points.Row(2), err)
	_, err = dataset.NewPoints(1, 2, []float64{1, math.NaN()})
	fmt.Println(err)
	// Output:
	// 3 points [0 2] <nil>
	// row 0, column 1 is NaN; every value must be a finite number
}

// Edges have no direction, and repeated edges add their weights.
func ExampleNewGraph() {
	graph, err := dataset.NewGraph(0, []dataset.Edge{
		{Source: 0, Target: 1, Weight: 1},
		{Source: 1, Target: 0, Weight: 0.5},
		{Source: 2, Target: 1, Weight: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for vertex := range graph.N {
		neighbors, weights := graph.Row(vertex)
		fmt.Println(vertex, "has neighbors", neighbors, "with weights", weights)
	}
	// Output:
	// 0 has neighbors [1] with weights [1.5]
	// 1 has neighbors [0 2] with weights [1.5 3]
	// 2 has neighbors [1] with weights [3]
}

// The same data has the same bytes, whose hash names it.
func ExampleMarshal() {
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	bytes, err := dataset.Marshal(points)
	fmt.Printf("%d bytes, starting with %q, %v\n", len(bytes), bytes[:4], err)
	// Output:
	// 40 bytes, starting with "CLV1", <nil>
}
