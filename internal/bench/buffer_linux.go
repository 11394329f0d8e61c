package bench

import (
	"fmt"
	"syscall"
	"unsafe"
)

// hugeBuffer is memory on huge pages, as far as the system gives them, filled so that it is there.
func hugeBuffer(words int) (buffer []uint64, release func(), err error) {
	const advice = 14 // MADV_HUGEPAGE
	bytes, err := syscall.Mmap(-1, 0, 8*words, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("no memory for %d words: %w", words, err)
	}
	_ = syscall.Madvise(bytes, advice) // a system without huge pages does without
	buffer = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(bytes))), words)
	fill(buffer)
	return buffer, func() { _ = syscall.Munmap(bytes) }, nil
}
