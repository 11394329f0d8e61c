package neighbor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// BenchmarkPoints finds the 10 nearest neighbors of all rows. Rows without structure have the least to pass over.
func BenchmarkPoints(b *testing.B) {
	for _, size := range []struct{ n, d int }{{11_000, 16}, {10_000, 784}, {100_000, 2}} {
		for _, clusters := range []int{1, 10} {
			b.Run(fmt.Sprintf("%dx%d/%dclusters", size.n, size.d, clusters), func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				values := make([]float64, size.n*size.d)
				centers := make([]float64, clusters*size.d)
				for at := range centers {
					centers[at] = 4 * random.NormFloat64()
				}
				for at := range values {
					values[at] = random.NormFloat64() + centers[at/size.d%clusters*size.d+at%size.d]
				}
				for b.Loop() {
					search, err := NewSearch(&dataset.Points{N: size.n, D: size.d, Values: values})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := search.All(context.Background(), 10, 2); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
