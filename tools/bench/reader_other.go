//go:build !amd64

package bench

// readers are those that this processor supports, the widest first.
func readers() []reader { return []reader{{"portable", readLines}} }
