package kernel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/partition"
)

// benchmarkPoints is n normal points under the gaussian kernel.
func benchmarkPoints(t testing.TB, n, d int) *Source {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Function: Gaussian, Rho: 4, Rows: n, Columns: d, Grid: GridFor(float64(n))}
	source, err := NewSource(spec, points, nil)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// Building all tiles: few features, where the exponential dominates, and many, where products do.
func BenchmarkBuild(b *testing.B) {
	for _, size := range []struct{ n, d int }{{20_000, 16}, {10_000, 784}} {
		b.Run(fmt.Sprintf("d=%d", size.d), func(b *testing.B) {
			source := benchmarkPoints(b, size.n, size.d)
			numbers := partition.All(size.n)
			for b.Loop() {
				s := NewShard(source, 2)
				if _, err := s.Build(context.Background(), numbers, true); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size.n)*float64(size.n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mentries/s")
		})
	}
}
