package eigen

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheFactorOfAMatrixIsThatOfSingleSums(t *testing.T) {
	for _, n := range []int{1, 5, 64, 67, 129, 200, 259} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		x := Columns(n, n)
		for _, row := range x {
			for i := range row {
				row[i] = rng.Float64() - 0.5
			}
		}
		b := Gram(n, x, x)
		for i := range b {
			b[i][i]++
		}
		g := Cholesky(b)
		for i := range n {
			for j := range i + 1 {
				left := b[i][j] - plainDot(g[i][:j], g[j][:j])
				if want := left / g[j][j]; j < i && g[i][j] != want {
					t.Fatalf("%d rows: entry %d, %d is %v instead of %v", n, i, j, g[i][j], want)
				}
				if want := math.Sqrt(left); j == i && g[i][i] != want {
					t.Fatalf("%d rows: entry %d, %d is %v instead of %v", n, i, i, g[i][i], want)
				}
			}
		}
	}
}
