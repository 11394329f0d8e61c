//go:build !amd64

package neighbor

func availableRoutines() []routines { return []routines{portable()} }
