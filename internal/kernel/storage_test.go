package kernel

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// A tile that is not stored gives the bits of a stored one in every operation, and may change over
// in the middle of a run.
func TestStorageChangesNoBit(t *testing.T) {
	ctx := context.Background()
	for _, function := range []Function{Linear, Gaussian, Laplacian, Polynomial, Sigmoid, Cosine} {
		for _, n := range []int{17, 90, 700} {
			p := newProblem(t, rand.New(rand.NewPCG(uint64(n), uint64(function))), n, 4, function)
			stored, free, tiles := p.shard(t, 2), NewShard(p.source, 2), partition.All(p.n)
			if _, err := free.Build(ctx, tiles, false); err != nil {
				t.Fatal(err)
			}
			free.Arm(p.armament)
			if free.Bytes() != 0 {
				t.Errorf("%d bytes for tiles that are not stored", free.Bytes())
			}
			labels := p.labels()
			x := make([]float64, p.n)
			for i := range x {
				x[i] = p.rng.NormFloat64()
			}
			stats := Stats{Weight: []float64{3, 4, 5, 6}, SelfAffinity: []float64{1, 2, 3, 4}, Count: []int32{3, 4, 5, 6}}
			compare := func(what string, run func(*Shard) (any, error), equal func(a, b any) bool) {
				t.Helper()
				want, err := run(stored)
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(free)
				if err != nil || !equal(want, got) {
					t.Fatalf("function %d, n %d: %s differs (%v)", function, n, what, err)
				}
			}
			floats := func(a, b any) bool { return slices.Equal(a.([]float64), b.([]float64)) }
			sums := func(a, b any) bool { return slices.Equal(a.([]Int128), b.([]Int128)) }
			compare("diagonal", func(s *Shard) (any, error) { return s.Diagonal(ctx, tiles) }, floats)
			compare("column sum", func(s *Shard) (any, error) { return s.ColumnSum(ctx, tiles, []int32{0, 3, 9}) }, floats)
			compare("product", func(s *Shard) (any, error) { return s.Multiply(ctx, tiles, x) }, floats)
			compare("load", func(s *Shard) (any, error) { return s.Load(ctx, tiles, 1, labels) }, sums)
			moves := []Move{{Point: 2, From: labels[2], To: 1}, {Point: 7, From: labels[7], To: 3}, {Point: 8, From: labels[8], To: -1}}
			compare("update", func(s *Shard) (any, error) { return s.Update(ctx, tiles, 1, moves) }, sums)
			compare("assign", func(s *Shard) (any, error) { return s.Assign(ctx, tiles, 2, stats) },
				func(a, b any) bool { return slices.Equal(a.([]Move), b.([]Move)) })
			// They change over and go on.
			if _, err := stored.Build(ctx, tiles, false); err != nil {
				t.Fatal(err)
			}
			if _, err := free.Build(ctx, tiles, true); err != nil {
				t.Fatal(err)
			}
			back := []Move{{Point: 2, From: 1, To: 0}}
			compare("update after changing over", func(s *Shard) (any, error) { return s.Update(ctx, tiles, 2, back) }, sums)
		}
	}
}
