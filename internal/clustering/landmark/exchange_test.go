package landmark

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
)

// total is the sum of distances to the nearest centroids.
func total(rows []float64, width int, centroids []float64) float64 {
	sum := 0.0
	for i := 0; i < len(rows); i += width {
		least := kernelkmeans.SquaredDistance(rows[i:i+width], centroids[:width])
		for c := width; c < len(centroids); c += width {
			least = min(least, kernelkmeans.SquaredDistance(rows[i:i+width], centroids[c:c+width]))
		}
		sum += least
	}
	return sum
}

// Two centroids in one cluster and one for two clusters: an exchange puts one into each, and never makes the sum larger.
func TestExchangesGetOutOfLocalMinima(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var rows []float64
		for i := range 300 {
			rows = append(rows, 10*float64(i%3)+rng.NormFloat64(), rng.NormFloat64())
		}
		stuck := []float64{-0.5, 0, 0.5, 0, 15, 0}
		improved, exchanged := exchange(rows, 2, stuck, rng)
		if !exchanged || total(rows, 2, improved) > total(rows, 2, stuck)/3 {
			t.Errorf("seed %d: %v, sum %v instead of %v", seed, improved, total(rows, 2, improved), total(rows, 2, stuck))
		}
		random := make([]float64, 8)
		for at := range random {
			random[at] = 20 * rng.Float64()
		}
		if improved, _ := exchange(rows, 2, random, rng); total(rows, 2, improved) > total(rows, 2, random) {
			t.Errorf("seed %d: the sum rises", seed)
		}
	}
	if _, exchanged := exchange([]float64{1, 1, 2}, 1, []float64{1}, rand.New(rand.NewPCG(1, 1))); exchanged {
		t.Error("the only centroid was exchanged")
	}
}
