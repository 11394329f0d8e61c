package bench

import (
	"fmt"
	"testing"
)

// TestReadersReadEveryWord: the sum of all words shows that each was read exactly once.
func TestReadersReadEveryWord(t *testing.T) {
	for _, r := range readers() {
		for _, size := range []int{0, 1, 64, 64 * 3, 64*257 + 5, 64 * 1000} {
			words := make([]uint64, size)
			whole := size / 64 * 64
			want := uint64(0)
			for i := range words {
				words[i] = uint64(i*i + 1)
				if i < whole {
					want += words[i]
				}
			}
			for _, streams := range []int{1, 8} {
				t.Run(fmt.Sprintf("%s, %d words, %d streams", r.name, size, streams), func(t *testing.T) {
					sum, bytes := r.readStreams(words, streams)
					if sum != want || bytes != 8*whole {
						t.Errorf("read %d bytes with sum %d, want %d and %d", bytes, sum, 8*whole, want)
					}
				})
			}
		}
	}
}
