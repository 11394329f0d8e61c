package eigen

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// In n steps MINRES solves systems of n rows, any number of them side by side, and every step reduces the residual.
func TestMinresSolvesIndefiniteSystems(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for range 20 {
		n := 2 + rng.IntN(12)
		m := Columns(n, n)
		for i := range m {
			for j := range i + 1 {
				m[i][j] = rng.NormFloat64()
				m[j][i] = m[i][j]
			}
		}
		shifts := []float64{0, 0.7, -0.4}
		apply := func(_ context.Context, x [][]float64) ([][]float64, error) {
			y := Columns(n, len(x))
			for j := range x {
				for i := range m {
					y[j][i] = plainDot(m[i], x[j]) - shifts[j]*x[j][i]
				}
			}
			return y, nil
		}
		b := [][]float64{noise(n, rng), noise(n, rng), make([]float64, n)}
		before := []float64{length(b[0]), length(b[1]), 0}
		for _, steps := range []int{1, 2, n + 2} {
			x := cloneColumns(b)
			if err := minres(context.Background(), apply, x, steps); err != nil {
				t.Fatal(err)
			}
			y, _ := apply(context.Background(), x)
			for j := range y {
				subtractMultiple(y[j], b[j], 1)
				left := length(y[j])
				if !(left <= before[j]*(1+1e-9)) {
					t.Fatalf("%d rows: after %d steps %g is left, before %g", n, steps, left, before[j])
				}
				before[j] = left
				if steps > n && !(left <= 1e-6*(1+length(b[j]))) {
					t.Fatalf("%d rows: %g is left of a right-hand side of length %g", n, left, length(b[j]))
				}
			}
			for i, v := range x[2] {
				if v != 0 || math.Signbit(v) {
					t.Fatalf("entry %d of the solution of nothing is %g", i, v)
				}
			}
		}
	}
}
