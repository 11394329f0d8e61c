package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// What is left of a symmetric block determines it, whichever tiles its points are in.
func TestEachPairOnceDeterminesABlock(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		n := 20 + random.IntN(300)
		k := 1 + random.IntN(4)
		var b Block
		for i := range n {
			if random.IntN(8) == 0 {
				b.Points = append(b.Points, int32(i))
			}
		}
		width := b.Width(k)
		values := make([]float64, len(b.Points)*width)
		for i := range b.Points {
			for c := range k {
				values[i*width+c] = random.Float64()
			}
			for j := range i + 1 {
				entry := random.Float64()
				values[i*width+k+j], values[j*width+k+i] = entry, entry
			}
		}
		ranges := partition.TileRanges(n, partition.AllTiles(n))
		kept := b.DropRepeated(slices.Clone(values), k, ranges)
		if want := len(b.Points)*k + len(b.Points)*(len(b.Points)+1)/2; len(kept) != want {
			t.Fatalf("%d values are left instead of %d", len(kept), want)
		}
		whole := make([]float64, len(values))
		for i := range b.Points {
			row := whole[i*width:][:width]
			kept = kept[copy(row[:k], kept):]
			kept = kept[copy(row[k+i:], kept):]
		}
		b.Mirror(whole, k)
		if !slices.Equal(whole, values) {
			t.Fatalf("a block of %d points has other values", len(b.Points))
		}
	}
}
