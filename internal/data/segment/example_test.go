package segment_test

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/data/segment"
)

// A picture of 4 x 2 pixels; a person marked its left column as 1 and a pixel at the right as 2.
func ExampleLabel() {
	labeled, err := segment.Label(4, 2, []segment.Box{
		{X: 0, Y: 0, Width: 1, Height: 2, Label: 1},
		{X: 3, Y: 0, Width: 1, Height: 1, Label: 2},
	})
	fmt.Println(labeled, err)
	for _, c := range labeled.Chains(segment.UnitWeight) {
		fmt.Println(c.I, c.J, c.Kind)
	}
	// Output:
	// [[0 4] [3]] <nil>
	// 0 4 must
	// 0 3 cannot
	// 4 3 cannot
}

// Two dark pixels and a white one: the edge across the border has the smallest weight there is.
func ExampleAffinity_Edges() {
	picture := &segment.Picture{Width: 3, Height: 1, Gray: []uint16{0, 0, 65535}}
	affinity := segment.DefaultAffinity(picture, 1)
	affinity.SigmaGray = 10
	for edge := range affinity.Edges(picture) {
		fmt.Printf("%d-%d %.6f\n", edge.Source, edge.Target, edge.Weight)
	}
	// Output:
	// 0-1 0.135335
	// 1-2 0.000001
}
