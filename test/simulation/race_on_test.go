//go:build race

package simulation

const ciSeeds = 100 // under the race detector a simulation takes some twenty times as long
