//go:build amd64.v3

package clustering

// For this level, GOAMD64=v3, the compiler rounds a product and a sum in one step. For the default it does not.
const architecture = "amd64.v3"
