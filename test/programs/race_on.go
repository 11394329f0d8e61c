//go:build race

package programs

// RaceDetector tells whether the race detector is on.
const RaceDetector = true
