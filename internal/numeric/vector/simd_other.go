//go:build !amd64

package vector

func detectRoutines() routines { return portable() }

func availableRoutines() []routines { return []routines{portable()} }
