//go:build !race

package fleet_test

// slowdown is more than one under the race detector.
const slowdown = 1
