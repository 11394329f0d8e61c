//go:build !amd64

package vector

func detect() routines { return portable() }

func available() []routines { return []routines{portable()} }
