package clustering

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Streams of randomness: one generator for each purpose, so that none disturbs another. Restarts
// take the streams 0, 1, 2...
const (
	StreamRho uint64 = 1<<63 + iota
	StreamLanczos
	StreamEigen
	StreamBeliefs
)

// Random is the generator of one stream.
func (s Spec) Random(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, stream))
}

// Draw picks an index with probability proportional to chance from u in [0, 1); -1 when all are 0.
// Sums are taken tile by tile, as everywhere.
func Draw(u float64, chance []float64) int {
	n := len(chance)
	target := u * partition.Sum(n, func(i int) float64 { return chance[i] })
	last, before := -1, 0.0
	for tile := range partition.TileCount(n) {
		rows, part := partition.Tile(n, tile), 0.0
		for i := rows.From; i < rows.To; i++ {
			if chance[i] <= 0 {
				continue
			}
			last = i
			if part += chance[i]; before+part > target {
				return i
			}
		}
		before += part
	}
	return last // rounding at the very end
}
