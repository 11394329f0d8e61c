//go:build !linux

package bench

// hugeBuffer is memory on the system's usual pages, filled so that it is there.
func hugeBuffer(words int) (buffer []uint64, release func(), err error) {
	buffer = make([]uint64, words)
	fill(buffer)
	return buffer, func() {}, nil
}
