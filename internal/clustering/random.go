package clustering

import (
	"iter"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/partition"
)

// Streams of random numbers. Each purpose has its own generator, so that the draws of one do not affect another.
// Restarts use the streams 0, 1, 2, and so on.
const (
	StreamRho       uint64 = 1<<63 + iota // the sample for the kernel width
	StreamLanczos                         // the smallest eigenvalue, for the shift
	StreamEigen                           // eigenvectors
	StreamBeliefs                         // eigenvalues of the beliefs
	StreamFolds                           // which constraints are held out together
	StreamLandmarks                       // which points are landmarks
	StreamSample                          // the sample of rows that initial labels are computed on
	StreamExchange                        // the points that replace centroids
	StreamParts                           // the parts of the data that a number of clusters is tried on
	StreamCloud                           // reference data without clusters
	_                                     // free: StreamForest keeps its number
	StreamForest                          // decision trees
)

// Streams of constrained-spectral if its constraints select how they are used.
const (
	StreamHeldOut   uint64 = 1<<63 + 32 + iota // which constraints are held out
	StreamSeedPairs                            // which seeds are paired
)

// StreamLevels is the stream of auto for multilevel graph clustering.
const StreamLevels uint64 = 1<<63 + 1<<31

// StreamCuts is the first of the streams of auto with UseCuts. Each fold has one.
const StreamCuts uint64 = 1<<63 + 1<<32

// Source returns the source of a stream. Its state is the whole state of the generator, so saving it suffices to
// resume.
func (s Spec) Source(stream uint64) *rand.PCG { return rand.NewPCG(s.Seed, stream) }

// Random returns the generator of a stream.
func (s Spec) Random(stream uint64) *rand.Rand { return rand.New(s.Source(stream)) }

// Draw maps u in [0, 1) to an index, with probabilities proportional to chance. It returns -1 if all are 0. Sums are
// computed tile by tile, so that the result does not depend on how rows are distributed.
func Draw(u float64, chance []float64) int {
	n := len(chance)
	target := u * partition.SumByTile(n, func(i int) float64 { return chance[i] })
	last, before := -1, 0.0
	for tile := range partition.TileCount(n) {
		rows := partition.Tile(n, tile)
		part := 0.0
		for i := rows.From; i < rows.To; i++ {
			if chance[i] <= 0 {
				continue
			}
			last = i
			part += chance[i]
			if before+part > target {
				return i
			}
		}
		before += part
	}
	return last // target equals the total, up to rounding
}

// SomePairs yields distinct pairs of indices below n: all of them or, if there are more than about most, the pairs of
// each index with the next few in circular order.
func SomePairs(n, most int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		reach := min(n/2, max(1, most/max(1, n))) // pairs farther apart than half the circle would repeat
		for step := 1; step <= reach; step++ {
			places := n
			if 2*step == n {
				places = step // the other half of the circle yields the same pairs
			}
			for i := range places {
				if !yield(i, (i+step)%n) {
					return
				}
			}
		}
	}
}
