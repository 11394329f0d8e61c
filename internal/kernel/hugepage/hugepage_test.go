package hugepage

import "testing"

// Buffers of any size and alignment keep their contents.
func TestAdviseKeepsBuffers(t *testing.T) {
	for _, length := range []int{0, 1, size/4 - 1, size / 4, size/4 + 1, size, 3 * size / 2} {
		for _, offset := range []int{0, 1, 1000} {
			buffer := make([]float32, length+offset)
			for i := range buffer {
				buffer[i] = float32(i)
			}
			Advise(buffer[offset:])
			for i := range buffer {
				if buffer[i] != float32(i) {
					t.Fatalf("length %d, offset %d: value %d is %v", length, offset, i, buffer[i])
				}
			}
		}
	}
}
