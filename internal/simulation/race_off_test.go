//go:build !race

package simulation

const ciSeeds = 800 // some 20 seconds of one processor; -seeds has more
