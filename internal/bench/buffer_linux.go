package bench

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks for large pages. A system without them does without.
func hugePages(memory []byte) {
	page := uintptr(os.Getpagesize())
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % page
	if uintptr(len(memory)) < skip+page {
		return
	}
	length := (uintptr(len(memory)) - skip) / page * page
	_ = unix.Madvise(memory[skip:skip+length], unix.MADV_HUGEPAGE)
}

// newBuffer is words of memory straight from the system, and the way to give them back: what the
// heap has touched before keeps the pages it has.
func newBuffer(words int) (buffer []uint64, release func(), err error) {
	memory, err := unix.Mmap(-1, 0, 8*words, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), words), func() { _ = unix.Munmap(memory) }, nil
}
