//go:build !amd64

package kernel

func detectRoutines() routines { return portable() }

func availableRoutines() []routines { return []routines{portable()} }
