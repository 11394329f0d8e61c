package kernel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// benchmarkPoints is n normally distributed points under the Gaussian kernel.
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
	spec := MatrixSpec{Function: Gaussian, Rho: 4, Rows: n, Columns: d, Grid: GridFor(float64(n))}
	source, err := NewSource(spec, points, nil)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// Building all tiles, with few features, where the exponential dominates, and with many, where the inner
// products do.
func BenchmarkDenseBuild(b *testing.B) {
	for _, size := range []struct{ n, d int }{{20_000, 16}, {10_000, 784}} {
		b.Run(fmt.Sprintf("d=%d", size.d), func(b *testing.B) {
			source := benchmarkPoints(b, size.n, size.d)
			numbers := partition.AllTiles(size.n)
			for b.Loop() {
				s := NewShard(source, 2)
				if err := s.Build(context.Background(), numbers, true); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size.n)*float64(size.n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mentries/s")
		})
	}
}

// denseBenchmark is a loaded shard of stored points.
type denseBenchmark struct {
	*Shard
	tiles  []int
	labels []int32
	rng    *rand.Rand
}

func newDenseBenchmark(t testing.TB, n, k int) *denseBenchmark {
	t.Helper()
	d := &denseBenchmark{Shard: NewShard(benchmarkPoints(t, n, 4), 2), tiles: partition.AllTiles(n),
		rng: rand.New(rand.NewPCG(6, 6))}
	if err := d.Build(context.Background(), d.tiles, true); err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, n)
	d.labels = make([]int32, n)
	for i := range weights {
		weights[i], d.labels[i] = 1, d.rng.Int32N(int32(k))
	}
	setOperands(t, d.Shard, Operands{K: k, Weights: weights, Sparse: &Sparse{RowStart: make([]int64, n+1)}})
	must(d.Load(context.Background(), d.tiles, 1, d.labels))
	return d
}

// moveSome moves a share of the points to other clusters.
func (d *denseBenchmark) moveSome(moves []labeling.Move, share float64) []labeling.Move {
	k := int32(d.operands.K)
	for i, from := range d.labels {
		if d.rng.Float64() < share {
			d.labels[i] = (from + 1 + d.rng.Int32N(k-1)) % k
			moves = append(moves, labeling.Move{Point: int32(i), From: from, To: d.labels[i]})
		}
	}
	return moves
}

// A full sweep over 20,000 columns of 20,000 rows.
func BenchmarkDenseLoad(b *testing.B) {
	for _, k := range []int{10, 100} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			d := newDenseBenchmark(b, 20_000, k)
			b.ReportAllocs()
			b.SetBytes(4 * 20_000 * 20_000)
			for step := uint64(2); b.Loop(); step++ {
				must(d.Load(context.Background(), d.tiles, step, d.labels))
			}
		})
	}
}

// A delta of 1,000 columns.
func BenchmarkDenseUpdate(b *testing.B) {
	for _, k := range []int{10, 100} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			d := newDenseBenchmark(b, 20_000, k)
			// more moves than later, so that all buffers have their size
			moves := d.moveSome(make([]labeling.Move, 0, 2000), 0.08)
			must(d.Update(context.Background(), d.tiles, 1, moves))
			b.ReportAllocs()
			b.SetBytes(4 * 20_000 * 1000)
			for step := uint64(2); b.Loop(); step++ {
				moves = d.moveSome(moves[:0], 0.05)
				must(d.Update(context.Background(), d.tiles, step, moves))
			}
		})
	}
}

// The assignment of 20,000 rows.
func BenchmarkDenseAssign(b *testing.B) {
	for _, k := range []int{10, 100} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			d := newDenseBenchmark(b, 20_000, k)
			stats := []ClusterStats{{Weight: make([]float64, k), SelfAffinity: make([]float64, k),
				Count: make([]int32, k)}}
			for _, c := range d.labels {
				stats[0].Weight[c]++
				stats[0].Count[c]++
			}
			for c, q := range must(d.Load(context.Background(), d.tiles, 1, d.labels)) {
				stats[0].SelfAffinity[c] = d.source.spec.Grid.Value(q)
			}
			must(d.Assign(context.Background(), d.tiles, 1, stats))
			b.ReportAllocs()
			for b.Loop() {
				must(d.Assign(context.Background(), d.tiles, 1, stats))
			}
		})
	}
}
