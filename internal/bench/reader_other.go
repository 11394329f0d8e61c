//go:build !amd64

package bench

// readers lists the ways to read that this processor has, the widest first.
func readers() []reader { return []reader{{"portable", readLines}} }
