package synth_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/synth"
)

// Points of the two clusters alternate; the same seed gives the same points.
func ExampleTwoMoons() {
	points, truth, err := synth.TwoMoons(6, synth.MoonsNoise, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(points.N, "points of", points.D, "features, clusters", truth)
	// Output:
	// 6 points of 2 features, clusters [0 1 0 1 0 1]
}

// Constraints say for random pairs of points what the truth says.
func ExampleConstraints() {
	truth := []int32{0, 0, 1, 1}
	constraints, err := synth.Constraints(truth, 6, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := constraint.NewSet(len(truth), constraints, constraint.UnitWeight)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pair := range set.Pairs() {
		fmt.Println(pair.I, pair.J, pair.Kind)
	}
	// Output:
	// 0 1 must
	// 0 2 cannot
	// 0 3 cannot
	// 1 2 cannot
	// 1 3 cannot
	// 2 3 must
}
