//go:build long

package testscale

// Long reports whether all cases of large tests run.
const Long = true
