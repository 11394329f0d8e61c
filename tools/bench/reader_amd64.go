package bench

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func readLinesAVX512(base *byte, stride, step, count uintptr) uint64

//go:noescape
func readLinesAVX2(base *byte, stride, step, count uintptr) uint64

// readers returns the readers that this processor supports, the widest first.
func readers() []reader {
	var all []reader
	if cpu.X86.HasAVX512F {
		all = append(all, reader{"AVX-512", vectorReader(readLinesAVX512)})
	}
	if cpu.X86.HasAVX2 {
		all = append(all, reader{"AVX2", vectorReader(readLinesAVX2)})
	}
	return append(all, reader{"portable", readLines})
}

// vectorReader checks the bounds of a slice before it calls the assembly.
func vectorReader(read func(base *byte, stride, step, count uintptr) uint64) func([]uint64, int, int, int) uint64 {
	return func(words []uint64, stride, step, count int) uint64 {
		if count == 0 {
			return 0
		}
		_ = words[(count-1)*step+(linesPerTurn-1)*stride+wordsPerLine-1]
		return read((*byte)(unsafe.Pointer(unsafe.SliceData(words))), uintptr(8*stride), uintptr(8*step),
			uintptr(count))
	}
}
