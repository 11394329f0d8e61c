package bench

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newBuffer is memory from the system, and a function that gives it back. Memory of the Go
// heap may have been used before, and would then keep the pages that it has.
func newBuffer(words int) (buffer []uint64, release func(), err error) {
	memory, err := unix.Mmap(-1, 0, 8*words, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), words), func() { _ = unix.Munmap(memory) }, nil
}

// peakBytes is the largest resident set of a process that has ended.
func peakBytes(state *os.ProcessState) int64 {
	usage, known := state.SysUsage().(*syscall.Rusage)
	if !known {
		return 0
	}
	return usage.Maxrss << 10
}
