//go:build !amd64

package kernel

func detect() routines { return portable() }

func available() []routines { return []routines{portable()} }
