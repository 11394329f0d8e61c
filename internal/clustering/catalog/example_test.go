package catalog_test

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// The same refusal for a client of the API and for a user of the command line.
func ExampleRequest_Check() {
	request := catalog.Request{
		Algorithm: "kernel-kmeans", Data: catalog.Points,
		Values: map[string]string{"k": "3", "kernel": "linear", "degree": "3"},
	}
	refusal, _ := errors.AsType[*catalog.Refusal](request.Check())
	fmt.Println(refusal.Reason)
	fmt.Printf("%s: %v\n", refusal.Field(), refusal)
	fmt.Println(refusal.Text(func(option string) string { return "--" + option }))
	// Output:
	// OPTION_DOES_NOT_APPLY
	// spec.kernel_kmeans.kernel.degree: degree does not apply to the linear kernel, only to polynomial
	// --degree does not apply to the linear kernel, only to polynomial
}
