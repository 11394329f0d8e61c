//go:build !amd64

package bench

// readers returns the readers that this processor supports, the widest first.
func readers() []reader { return []reader{{"portable", readLines}} }
