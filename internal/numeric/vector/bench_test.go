package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// BenchmarkIteration is one iteration of k-means: nearest centroids, sums of clusters, and the objective. Run it
// with make bench-go BENCH=Iteration PACKAGES=./internal/numeric/vector.
func BenchmarkIteration(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const threads = 2
	b.Run("dense 1000000x16 k=100", func(b *testing.B) {
		const n, d = 1_000_000, 16
		values := make([]float64, n*d)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		iterate(b, &dataset.Points{N: n, D: d, Values: values}, Plain, metric.SquaredEuclidean, 100, threads)
	})
	b.Run("dense 20000x784 k=10", func(b *testing.B) {
		const n, d = 20_000, 784
		values := make([]float64, n*d)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		iterate(b, &dataset.Points{N: n, D: d, Values: values}, Plain, metric.SquaredEuclidean, 10, threads)
	})
	const n, d, perRow = 20_000, 60_000, 100
	p := &dataset.SparsePoints{N: n, D: d, RowStart: []int64{0}}
	for range n {
		column := int32(rng.IntN(d / perRow))
		for range perRow {
			p.Column, p.Value = append(p.Column, column), append(p.Value, 1+rng.Float64())
			column += 1 + int32(rng.IntN(2*d/perRow-2))
			if column >= d {
				break
			}
		}
		p.RowStart = append(p.RowStart, int64(len(p.Column)))
	}
	for _, c := range []struct {
		name        string
		preparation Preparation
		distortion  metric.Distortion
	}{
		{"euclidean", Plain, metric.SquaredEuclidean},
		{"cosine", Unit, metric.Cosine},
		{"kl", Probability, metric.KL},
	} {
		b.Run("sparse 20000x60000 k=20 "+c.name, func(b *testing.B) {
			iterate(b, p, c.preparation, c.distortion, 20, threads)
		})
	}
}

func iterate(b *testing.B, data dataset.Dataset, preparation Preparation, distortion metric.Distortion,
	k, threads int) {
	spec, err := NewRowSpec(data, preparation)
	if err != nil {
		b.Fatal(err)
	}
	source, err := NewSource(spec, data)
	if err != nil {
		b.Fatal(err)
	}
	shard := NewShard(source, threads)
	tiles := partition.AllTiles(spec.Rows)
	if err := shard.Build(b.Context(), tiles); err != nil {
		b.Fatal(err)
	}
	labels := make([]int32, spec.Rows)
	counts := make([]int, k)
	for i := range labels {
		labels[i] = int32(i % k)
		counts[i%k]++
	}
	sums := sumsOf(b, shard, tiles, 1, k, labels)
	model := Model{Distortion: distortion, Clusters: k, Centroids: make([]float64, k*spec.Columns)}
	centroids := func() {
		for c, count := range counts {
			mu := model.Centroids[c*spec.Columns:][:spec.Columns]
			if count > 0 {
				spec.Centroid(mu, sums[c*spec.Width():][:spec.Width()], count)
				distortion.NormalizeMean(mu)
			}
		}
	}
	centroids()
	b.ReportAllocs()
	step := uint64(1)
	var moves []labeling.Move
	for b.Loop() {
		if moves, err = shard.Assign(b.Context(), tiles, step, one(&model, nil)); err != nil {
			b.Fatal(err)
		}
		changes, err := shard.Update(b.Context(), tiles, step, moves)
		if err != nil {
			b.Fatal(err)
		}
		addTo(sums, changes)
		step++
		for _, m := range moves {
			counts[m.From]--
			counts[m.To]++
		}
		centroids()
		if _, err = shard.Scatter(b.Context(), tiles, step, []Query{{Model: &model, Kind: Total}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(shard.Bytes())/(1<<20), "MiB")
}
