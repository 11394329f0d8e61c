//go:build !race

package simulation

const ciSeeds = 2000 // some 40 seconds of one processor
