package clustering

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Streams of randomness: each purpose has a generator of its own, so that what one draws does not change what another
// gets. Restarts have the streams 0, 1, 2...
const (
	StreamRho       uint64 = 1<<63 + iota // the sample for the kernel width
	StreamLanczos                         // the least eigenvalue, for the shift
	StreamEigen                           // eigenvectors
	StreamBeliefs                         // eigenvalues of the beliefs
	StreamFolds                           // which constraints are held out together
	StreamLandmarks                       // which points are landmarks
	StreamSample                          // which rows starts are made on
	StreamExchange                        // which points centroids are exchanged for
	StreamParts                           // which parts of the data a number of clusters is tried on
	StreamCloud                           // a cloud without clusters
	StreamGaps                            // eigenvalues of a graph
)

// Those of constrained-spectral where it chooses by its constraints.
const (
	StreamHeldOut   uint64 = 1<<63 + 32 + iota // which constraints are held out
	StreamSeedPairs                            // which seeds are paired
)

// StreamLevels is of auto, for graphs of merged vertices.
const StreamLevels uint64 = 1<<63 + 1<<31

// StreamCuts and those after it are of auto, where constraints choose cuts: one for each fold.
const StreamCuts uint64 = 1<<63 + 1<<32

// Source is the source of one stream, whose state is all that its generator has.
func (s Spec) Source(stream uint64) *rand.PCG { return rand.NewPCG(s.Seed, stream) }

// Random is the generator of one stream.
func (s Spec) Random(stream uint64) *rand.Rand { return rand.New(s.Source(stream)) }

// DrawRows draws count of n rows, each as likely as the others, and returns them in ascending order.
func DrawRows(n, count int, rng *rand.Rand) []int32 {
	rows := make([]int32, 0, min(n, count))
	for i := range n {
		if rng.IntN(n-i) < count-len(rows) {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// Draw turns u in [0, 1) into an index, with probabilities proportional to chance; -1 when all are 0.
// Sums are taken tile by tile, as everywhere.
func Draw(u float64, chance []float64) int {
	n := len(chance)
	target := u * partition.SumByTile(n, func(i int) float64 { return chance[i] })
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
	return last // the target is the total, up to rounding
}
