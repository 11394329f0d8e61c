package vector_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// A shard never takes more memory than planned, even after everything that it can be asked for.
func TestShardsOfVectorsKeepToThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		d := rapid.IntRange(1, 40).Draw(t, "d")
		k := rapid.IntRange(1, min(n, 20)).Draw(t, "k")
		threads := rapid.IntRange(1, 3).Draw(t, "threads")
		full := rapid.Bool().Draw(t, "full")
		preparation := vector.Plain
		distortion := metric.SquaredEuclidean
		if !full && rapid.Bool().Draw(t, "probabilities") {
			preparation, distortion = vector.Probability, metric.KL
		}
		data := randomData(t, n, d, rapid.Bool().Draw(t, "sparse"))
		spec, err := vector.NewRowSpec(data, preparation)
		if err != nil {
			t.Fatal(err)
		}
		source, err := vector.NewSource(spec, data)
		if err != nil {
			t.Fatal(err)
		}
		p := planning.Workload{K: k, Lanes: rapid.IntRange(1, 5).Draw(t, "lanes"),
			Vectors: &planning.Vectors{Rows: n, Columns: d, Width: spec.Width(), FullMetric: full,
				Entries: planning.TileEntries(data)}}
		tiles := rapid.SliceOfDistinct(rapid.IntRange(0, partition.TileCount(n)-1), rapid.ID[int]).Draw(t, "tiles")
		planned := p.FixedBytes(threads)
		for _, tile := range tiles {
			planned += p.TileSize(tile).Stored
		}
		shard := vector.NewShard(source, threads)
		use(t, shard, tiles, spec, k, p.Lanes, distortion, full)
		if got := shard.Bytes(); got > planned {
			t.Errorf("%d tiles take %d bytes, planned were %d", len(tiles), got, planned)
		}
	})
}

// use asks a shard for everything that it can be asked for.
func use(t *rapid.T, shard *vector.Shard, tiles []int, spec *vector.RowSpec, k, lanes int, distortion metric.Distortion,
	full bool) {
	ctx := context.Background()
	m := &vector.Model{Distortion: distortion, Clusters: k, Centroids: make([]float64, k*spec.Columns)}
	for at := range m.Centroids {
		m.Centroids[at] = 1 / float64(at+1)
	}
	kind := vector.Total
	if full {
		kind = vector.Full
		m.Metric = make([]float64, spec.Columns*spec.Columns)
	}
	labels := make([]int32, lanes*spec.Rows)
	counts := make([]int32, k)
	points := make([]int32, spec.Rows)
	for i := range points {
		points[i] = int32(i)
		counts[i%k]++
	}
	var moves []labeling.Move
	var queries, all []vector.Query
	for lane := range lanes {
		for i := range spec.Rows {
			labels[lane*spec.Rows+i] = -1
			moves = append(moves, labeling.Move{Point: int32(i), From: -1, To: int32(lane*k + i%k)})
		}
		queries = append(queries, vector.Query{Lane: lane, Model: m, Counts: counts, Kind: kind})
		all = append(all, vector.Query{Lane: lane, Model: m, Points: points})
	}
	err := shard.Build(ctx, tiles)
	for _, ask := range []func() error{
		func() error { return shard.Load(1, k, labels) },
		func() error { _, err := shard.Update(ctx, tiles, 1, moves); return err },
		func() error { _, err := shard.Assign(ctx, tiles, 2, queries); return err },
		func() error { _, err := shard.Distances(ctx, tiles, all); return err },
		func() error { _, err := shard.Scatter(ctx, tiles, 2, queries); return err },
		func() error { _, err := shard.Farthest(ctx, tiles, 2, queries); return err },
		func() error { _, err := shard.Nearest(ctx, tiles, queries); return err },
	} {
		if err == nil {
			err = ask()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func randomData(t *rapid.T, n, d int, sparse bool) dataset.Dataset {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	values := make([]float64, n*d)
	for at := range values {
		if random.IntN(3) == 0 {
			values[at] = random.Float64()
		}
	}
	if !sparse {
		points, err := dataset.NewPoints(n, d, values)
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	starts := []int64{0}
	columns := []int32{}
	entries := []float64{}
	for i := range n {
		for f, v := range values[i*d : (i+1)*d] {
			if v != 0 {
				columns = append(columns, int32(f))
				entries = append(entries, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	points, err := dataset.NewSparsePoints(n, d, starts, columns, entries)
	if err != nil {
		t.Fatal(err)
	}
	return points
}
