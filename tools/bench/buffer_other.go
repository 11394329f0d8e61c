//go:build !linux

package bench

// newBuffer is words of memory.
func newBuffer(words int) (buffer []uint64, release func(), err error) {
	return make([]uint64, words), func() {}, nil
}
