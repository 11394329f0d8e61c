package invalid_test

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/invalid"
)

// Programs match on the reason and read the values.
func ExampleNew() {
	err := fmt.Errorf("the second run: %w", invalid.New(invalid.CostOverflow, "total", 1e308))
	fmt.Println(err)
	fmt.Println(errors.Is(err, invalid.CostOverflow), errors.Is(err, invalid.ZeroRow))
	bad, _ := errors.AsType[*invalid.Error](err)
	fmt.Println(bad.Value("total"), bad.Value("limit"), bad.Row)
	// Output:
	// the second run: the costs add up to infinity, total=1e+308
	// true false
	// 1e+308 <nil> -1
}

// Rows that were checked behind 1000 others keep their own numbers.
func ExampleShiftRows() {
	fmt.Println(invalid.ShiftRows(invalid.InRow(1003, invalid.ZeroRow), -1000))
	fmt.Println(invalid.ShiftRows(invalid.InCell(1003, 2, invalid.AboveFloat32, "value", 1e40), -1000))
	fmt.Println(invalid.ShiftRows(invalid.InRow(3, invalid.ZeroRow), -1000))
	fmt.Println(invalid.ShiftRows(invalid.New(invalid.CostOverflow), 1000))
	fmt.Println(invalid.ShiftRows(nil, -1000))
	// Output:
	// row 3: the row is all zeros and has no direction
	// row 3, column 2: the value is too large for a float32, value=1e+40
	// row 3: the row is all zeros and has no direction
	// the costs add up to infinity
	// <nil>
}
