package kmeans

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// total is the sum of distances to the nearest centroids.
func total(rows []float64, width int, centroids []float64) float64 {
	sum := 0.0
	for i := 0; i < len(rows); i += width {
		least := metric.SquaredDistance(rows[i:i+width], centroids[:width])
		for c := width; c < len(centroids); c += width {
			least = min(least, metric.SquaredDistance(rows[i:i+width], centroids[c:c+width]))
		}
		sum += least
	}
	return sum
}

// Two centroids in one cluster and one for two clusters: an exchange puts one into each.
func TestExchangesGetOutOfLocalMinima(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var rows []float64
		for i := range 300 {
			rows = append(rows, 10*float64(i%3)+rng.NormFloat64(), rng.NormFloat64())
		}
		stuck := []float64{-0.5, 0, 0.5, 0, 15, 0}
		improved, err := exchange(t.Context(), rows, 2, stuck, rng)
		if err != nil {
			t.Fatal(err)
		}
		if total(rows, 2, improved) > total(rows, 2, stuck)/3 {
			t.Errorf("seed %d: %v, sum %v instead of %v", seed, improved, total(rows, 2, improved),
				total(rows, 2, stuck))
		}
	}
	if got, err := exchange(t.Context(), []float64{1, 1, 2}, 1, []float64{1},
		rand.New(rand.NewPCG(1, 1))); err != nil || got[0] != 1 {
		t.Errorf("the only centroid was exchanged: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := exchange(ctx, []float64{1, 1, 2}, 1, []float64{1, 2}, rand.New(rand.NewPCG(1, 1))); !errors.Is(err,
		context.Canceled) {
		t.Errorf("canceled exchanges ended with %v", err)
	}
}

// The distances that an exchanger keeps are those that it would find anew.
func TestDistancesAfterExchanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, width, k = 200, 3, 6
	rows := make([]float64, n*width)
	centroids := make([]float64, k*width)
	for at := range rows {
		rows[at] = rng.NormFloat64()
	}
	copy(centroids, rows)
	x, err := newExchanger(t.Context(), rows, width, centroids)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		c := rng.IntN(k)
		point := rng.IntN(n)
		distances := make([]float64, n)
		for i := range n {
			distances[i] = metric.SquaredDistance(x.row(i), x.row(point))
		}
		before := total(rows, width, x.centroids)
		losses := make([]float64, k)
		best := x.bestReplacement(distances, losses)
		copy(x.centroids[c*width:], x.row(point))
		if rise := total(rows, width, x.centroids) - before; rise < best.rise-1e-9 ||
			c == best.centroid && rise > best.rise+1e-9 {
			t.Fatalf("centroid %d for point %d raises the sum by %v; the least is said to be %+v", c, point, rise, best)
		}
		x.update(int32(c), distances)
		fresh, err := newExchanger(t.Context(), rows, width, x.centroids)
		if err != nil || !slices.Equal(x.first, fresh.first) || !slices.Equal(x.second, fresh.second) {
			t.Fatal("other distances than those found anew")
		}
	}
}
