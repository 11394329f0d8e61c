// Package hugepage asks the system to hold large buffers in large pages. It is advice: results do not
// depend on it, only their time does, and a system without large pages does without.
package hugepage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// size is that of a large page where it matters: on others, alignment to it does no harm.
const size = 2 << 20

// Advise asks for large pages under a buffer that nobody has touched yet. The memory stays what it is,
// part of the heap, counted and freed as ever.
func Advise[T any](buffer []T) {
	var value T
	bytes := len(buffer) * int(unsafe.Sizeof(value))
	if bytes < size {
		return
	}
	memory := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buffer))), bytes)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % size)
	if length := (bytes - skip) / size * size; length > 0 {
		_ = unix.Madvise(memory[skip:skip+length], unix.MADV_HUGEPAGE)
	}
}
