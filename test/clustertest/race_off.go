//go:build !race

package clustertest

// raceDetector tells whether the race detector is on.
const raceDetector = false
