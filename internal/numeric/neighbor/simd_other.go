//go:build !amd64

package neighbor

func detectRoutines() routines { return portable() }

func availableRoutines() []routines { return []routines{portable()} }
