package fault_test

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/fault"
)

// Programs match on the reason and read the details; people read the sentence.
func ExampleInvalid() {
	err := error(fault.Invalid("NOT_FINITE", "row %d is NaN; every value must be a finite number", 7).With("row", "7"))
	fmt.Println(err)
	fmt.Println(fault.Is(err, "NOT_FINITE"))
	var f *fault.Error
	if errors.As(err, &f) {
		fmt.Println(f.Kind == fault.InvalidArgument, f.Reason, f.Metadata["row"])
	}
	// Output:
	// row 7 is NaN; every value must be a finite number
	// true
	// true NOT_FINITE 7
}

// A caller that knows the place puts it in front; the reason stays.
func ExampleWrap() {
	err := fault.Wrap(fault.Invalid("EMPTY_DATA", "the file has no rows of data"), "%s", "points.csv")
	fmt.Println(err, fault.Is(err, "EMPTY_DATA"))
	// Output:
	// points.csv: the file has no rows of data true
}

// Somebody who knows a row by another name can say the place in these words, unless another place was put in front
// already.
func ExampleInCell() {
	err := fault.InCell(7, 2, "NEGATIVE_VALUE", " is -1; values must be 0 and above")
	fmt.Println(err)
	_, column, problem, _ := err.Problem()
	fmt.Printf("the row of \"ann\", column %d%s\n", column, problem)
	var wrapped *fault.Error
	errors.As(fault.Wrap(err, "points.csv"), &wrapped)
	_, _, _, ok := wrapped.Problem()
	fmt.Println(wrapped, ok)
	// Output:
	// row 7, column 2 is -1; values must be 0 and above
	// the row of "ann", column 2 is -1; values must be 0 and above
	// points.csv: row 7, column 2 is -1; values must be 0 and above false
}
