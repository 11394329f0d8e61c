package evaluate_test

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// The numbers used as labels do not matter, only which points are together.
func ExampleCompare() {
	truth := []int{0, 0, 1, 1}
	same, err := evaluate.Compare([]int{5, 5, 3, 3}, truth, nil)
	fmt.Printf("renamed: NMI %.2f, ARI %.2f, %v\n", same.NMI, same.ARI, err)
	split, err := evaluate.Compare([]int{0, 0, 1, 2}, truth, nil)
	fmt.Printf("one class split: NMI %.2f, ARI %.2f, purity %.2f, %v\n", split.NMI, split.ARI, split.Purity, err)
	// Output:
	// renamed: NMI 1.00, ARI 1.00, <nil>
	// one class split: NMI 0.80, ARI 0.57, purity 1.00, <nil>
}

// Points that gave supervision are left out of the score.
func ExampleCompare_subset() {
	truth := []int{0, 0, 1, 1, 1}
	predicted := []int{0, 0, 1, 1, 0}
	scores, err := evaluate.Compare(predicted, truth, []int32{0, 1, 2, 3})
	fmt.Printf("F %.2f, %v\n", scores.PairwiseF, err)
	// Output:
	// F 1.00, <nil>
}
