//go:build !linux

package bench

// hugePages has nothing to ask for here.
func hugePages([]byte) {}

// newBuffer is words of memory.
func newBuffer(words int) (buffer []uint64, release func(), err error) {
	return make([]uint64, words), func() {}, nil
}
