//go:build !amd64

package kernel

func availableRoutines() []routines { return []routines{portable()} }
