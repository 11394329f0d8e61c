//go:build !linux

// Package hugepage asks the system to hold large buffers in large pages. It is advice: results do not
// depend on it, only their time does, and a system without large pages does without.
package hugepage

// Advise asks for large pages under a buffer that nobody has touched yet.
func Advise[T any]([]T) {}
