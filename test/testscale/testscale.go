// Package testscale decides how much of a large test runs. make test runs a part of every kind of test in a few
// minutes; make test-long, which builds with the tag long, runs everything.
package testscale

import "testing"

// Some returns an evenly spaced part of the cases of a test: n of them, or all in a long run or if there are fewer.
func Some[T any](cases []T, n int) []T {
	if Long || len(cases) <= n {
		return cases
	}
	some := make([]T, n)
	for at := range some {
		some[at] = cases[at*len(cases)/n]
	}
	return some
}

// Count returns how often a test repeats something: short times, or long times in a long run.
func Count(short, long int) int {
	if Long {
		return long
	}
	return short
}

// LongOnly skips a test in a short run. The reason names what covers the same kind of thing there.
func LongOnly(t testing.TB, covered string) {
	t.Helper()
	if !Long {
		t.Skip("left to make test-long: " + covered)
	}
}
