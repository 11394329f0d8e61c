package kernelkmeans

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/clusteringtest"
)

// What is at the place is what sorting would put there, with no larger value before it.
func TestPartitionAtAgainstSorting(t *testing.T) {
	for seed := range uint64(300) {
		rng := clusteringtest.NewRand(seed)
		values := make([]float64, 1+rng.IntN(60))
		for at := range values {
			values[at] = float64(rng.IntN(1 + rng.IntN(50))) // with many equal ones
		}
		place := rng.IntN(len(values))
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		partitionAt(values, place)
		if values[place] != sorted[place] || (place > 0 && slices.Max(values[:place]) != sorted[place-1]) {
			t.Fatalf("seed %d: %v at %d, sorted %v", seed, values, place, sorted)
		}
	}
}
