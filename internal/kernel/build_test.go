package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// Every entry of a stored matrix is the kernel function's value: computed or mirrored, within a tile or
// between tiles, built together or one after the other.
func TestBuildComputesEveryEntry(t *testing.T) {
	ctx := context.Background()
	for _, r := range availableRoutines() {
		for _, n := range []int{17, 90, 1030, 1071} {
			for _, half := range []bool{false, true} {
				p := newProblem(t, rand.New(rand.NewPCG(uint64(n), 8)), n, 2, Gaussian)
				p.source.routines = r
				spec := &p.source.spec
				spec.ZeroDiagonal = n == 90
				if half {
					spec.HalfScale = p.bounds.HalfScale()
				}
				s := NewShard(p.source, 2)
				tiles := partition.AllTiles(n)
				for _, numbers := range [][]int{tiles[:1], tiles[2:], tiles} {
					if err := s.Build(ctx, numbers, true); err != nil {
						t.Fatal(err)
					}
				}
				for _, number := range tiles {
					checkEntries(t, p.source, s.tiles[number].base.(*denseTile))
				}
			}
		}
	}
}

// checkEntries compares a tile with entries computed one by one.
func checkEntries(t *testing.T, s *Source, tile *denseTile) {
	t.Helper()
	points, spec, c := s.points, &s.spec, s.spec.Grid.Rounder()
	for j := range tile.n {
		for r := range tile.stride {
			want, i := float32(0), tile.rows.From+r
			if r < tile.height && !(spec.ZeroDiagonal && i == j) {
				product := 0.0
				for f, v := range points.row(i) {
					product += float64(v) * float64(points.row(j)[f])
				}
				v := spec.Value(product, points.norms[i], points.norms[j])
				if spec.Scale != nil {
					v *= spec.Scale[i] * spec.Scale[j]
				}
				want = float32((float64(float32(v)) + c) - c)
			}
			got := float32(0)
			if tile.half != nil {
				want = fromHalf(toHalf(want * float32(1/spec.HalfScale)))
				got = fromHalf(tile.half[j*tile.stride+r])
			} else {
				got = tile.column(j)[r]
			}
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%s, n %d, half %v: entry (%d,%d) is %v, want %v", s.routines.name, tile.n, tile.half != nil,
					i, j, got, want)
			}
		}
	}
}
