package constraint_test

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// Must-links are transitive, and a cannot-link between two points holds for everything linked to them.
func ExampleNewSet() {
	set, err := constraint.NewSet(5, []constraint.Constraint{
		{I: 0, J: 1, Kind: constraint.MustLink},
		{I: 1, J: 2, Kind: constraint.MustLink},
		{I: 2, J: 3, Kind: constraint.CannotLink},
	}, constraint.UnitWeight)
	if err != nil {
		fmt.Println(err)
		return
	}
	components := set.Components()
	for component := range int32(components.Count()) {
		fmt.Println("together:", components.Members(component))
	}
	fmt.Println("0 and 3 apart:", set.Apart(components.Of(0), components.Of(3)))
	fmt.Println("3 and 4 apart:", set.Apart(components.Of(3), components.Of(4)))
	// Output:
	// together: [0 1 2]
	// together: [3]
	// together: [4]
	// 0 and 3 apart: true
	// 3 and 4 apart: false
}

// A conflict comes with the must-links that prove it.
func ExampleSet_Conflicts() {
	set, err := constraint.NewSet(4, []constraint.Constraint{
		{I: 0, J: 1, Kind: constraint.MustLink},
		{I: 1, J: 2, Kind: constraint.MustLink},
		{I: 2, J: 0, Kind: constraint.CannotLink},
	}, constraint.UnitWeight)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, conflict := range set.Conflicts(0) {
		fmt.Println(conflict)
	}
	// Output:
	// points 0 and 2 cannot be together, but must-links join them: 0 = 1 = 2
}

// The labels put points 0 and 1 together, as they must be, but also 1 and 2, which must be apart.
func ExampleSet_Satisfaction() {
	set, err := constraint.NewSet(3, []constraint.Constraint{
		{I: 0, J: 1, Kind: constraint.MustLink},
		{I: 1, J: 2, Kind: constraint.CannotLink},
	}, constraint.UnitWeight)
	if err != nil {
		fmt.Println(err)
		return
	}
	result := set.Satisfaction([]int32{7, 7, 7})
	fmt.Println(result.Satisfied(), "of", result.Total, "satisfied")
	// Output:
	// 1 of 2 satisfied
}
