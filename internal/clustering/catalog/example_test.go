package catalog_test

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// The same misuse for a client of the API and for a user of the command line.
func ExampleRequest_Check() {
	request := catalog.Request{
		Algorithm: "kernel-kmeans", Data: catalog.Points,
		Values: map[string]string{"k": "3", "kernel": "linear", "degree": "3"},
	}
	misuse, _ := errors.AsType[*catalog.Misuse](request.Check())
	fmt.Println(misuse.Reason)
	fmt.Printf("%s: %v\n", misuse.Field(), misuse)
	fmt.Println(misuse.Text(func(option string) string { return "--" + option }))
	// Output:
	// OPTION_DOES_NOT_APPLY
	// spec.kernel_kmeans.kernel.degree: degree does not apply to the linear kernel, only to polynomial
	// --degree does not apply to the linear kernel, only to polynomial
}
