//go:build race

package fleet_test

// slowdown is how many times longer the limits are after which tests want a worker to be given up. The race detector
// makes the others as slow: they must not be given up too.
const slowdown = 5
