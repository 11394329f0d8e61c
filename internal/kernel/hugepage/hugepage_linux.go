// Package hugepage asks the system to keep large buffers in huge pages. This is only advice: it affects speed,
// never results, and does nothing on systems without huge pages.
package hugepage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// size is the usual size of a huge page. Where it is another, aligning to this one does no harm.
const size = 2 << 20

// Advise asks for huge pages for a buffer that has not been written to yet. The memory remains part of the Go
// heap, and is counted and freed as usual.
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
