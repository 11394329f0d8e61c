//go:build !linux

// Package hugepage asks the system to keep large buffers in huge pages. This is only advice: it affects speed,
// never results, and does nothing on systems without huge pages.
package hugepage

// Advise asks for huge pages for a buffer that has not been written to yet.
func Advise[T any]([]T) {}
