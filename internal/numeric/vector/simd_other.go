//go:build !amd64

package vector

func availableRoutines() []routines { return []routines{portable()} }
