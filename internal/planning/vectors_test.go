package planning

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

func dense(n, d, k int) Workload {
	return Workload{Vectors: &Vectors{Rows: n, Columns: d, Width: d}, DatasetBytes: 24 + 8*int64(n)*int64(d), K: k}
}

func drawSparse(t *rapid.T, n, d, k int) Workload {
	p, total := dense(n, d, k), int64(0)
	p.Vectors.Entries = make([]int64, partition.TileCount(n))
	for tile := range p.Vectors.Entries {
		p.Vectors.Entries[tile] = rapid.Int64Range(0, 10_000).Draw(t, "entries")
		total += p.Vectors.Entries[tile]
	}
	p.DatasetBytes = 24 + 8*int64(n+1) + 12*total
	return p
}

func TestPlansOfVectors(t *testing.T) {
	const mib = 1 << 20
	sparse := dense(5000, 100_000, 5)
	sparse.Vectors.Entries = make([]int64, 20)
	for tile := range sparse.Vectors.Entries {
		sparse.Vectors.Entries[tile] = 10_000
	}
	sparse.DatasetBytes = 12 * 200_000
	for _, c := range []struct {
		name         string
		p            Workload
		free         []int64
		storage, why string
	}{
		{"dense", dense(5000, 8, 5), []int64{2 * mib, 2 * mib}, "vectors", "all points are stored as float64, in 314 KiB over all workers"},
		{"sparse", sparse, []int64{140 * mib}, "sparse vectors", "also holds the data set of 2.29 MiB that they are made of; 1 worker offers 140 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var workers []Worker
			for _, free := range c.free {
				workers = append(workers, Worker{Threads: 1, Free: free})
			}
			plan, err := Make(c.p, workers)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Stored != 20 || plan.Computed != 0 || plan.Storage != c.storage || !strings.Contains(plan.Why, c.why) || plan.Passes < 100 {
				t.Errorf("plan %+v", plan)
			}
		})
	}
	_, err := Make(dense(1_000_000, 100, 5), []Worker{{Threads: 2, Free: 512 * mib}})
	if !fault.Is(err, DoesNotFit) || strings.Contains(err.Error(), "storage") {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"with all points in memory it needs 975 MiB", "2 more workers like the largest"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if _, err := Make(dense(math.MaxInt32, math.MaxInt32, math.MaxInt32), []Worker{{Threads: 64, Free: Unlimited}}); !fault.Is(err, DoesNotFit) {
		t.Errorf("more than there can be: %v", err)
	}
}

func TestTimesOfVectorsGrowWithTheWork(t *testing.T) {
	seconds := func(change func(*Workload), threads int) float64 {
		p := dense(200_000, 16, 10)
		change(&p)
		plan, err := Make(p, []Worker{{Threads: threads, Free: Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Seconds
	}
	base := seconds(func(*Workload) {}, 2)
	for name, more := range map[string]float64{
		"rows":        seconds(func(p *Workload) { p.Vectors.Rows *= 2 }, 2),
		"features":    seconds(func(p *Workload) { p.Vectors.Width *= 2 }, 2),
		"clusters":    seconds(func(p *Workload) { p.K *= 2 }, 2),
		"restarts":    seconds(func(p *Workload) { p.Restarts = 2 }, 2),
		"full metric": seconds(func(p *Workload) { p.Vectors.FullMetric = true }, 2),
		"fewer cores": seconds(func(*Workload) {}, 1),
	} {
		if more <= base {
			t.Errorf("more %s: %g s instead of %g s", name, more, base)
		}
	}
}

// A shard never takes more memory than planned, even after everything that it can be asked for.
func TestShardsOfVectorsKeepToThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		d, k := rapid.IntRange(1, 40).Draw(t, "d"), rapid.IntRange(1, min(n, 20)).Draw(t, "k")
		threads, full := rapid.IntRange(1, 3).Draw(t, "threads"), rapid.Bool().Draw(t, "full")
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
		p := Workload{K: k, Lanes: rapid.IntRange(1, 5).Draw(t, "lanes"), Vectors: &Vectors{Rows: n, Columns: d, Width: spec.Width(), FullMetric: full, Entries: TileEntries(data)}}
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
func use(t *rapid.T, shard *vector.Shard, tiles []int, spec *vector.RowSpec, k, lanes int, distortion metric.Distortion, full bool) {
	ctx := context.Background()
	m := &vector.Model{Distortion: distortion, Clusters: k, Centroids: make([]float64, k*spec.Columns)}
	for at := range m.Centroids {
		m.Centroids[at] = 1 / float64(at+1)
	}
	kind := vector.Total
	if full {
		kind, m.Metric = vector.Full, make([]float64, spec.Columns*spec.Columns)
	}
	labels, counts := make([]int32, lanes*spec.Rows), make([]int32, k)
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
	starts, columns, entries := []int64{0}, []int32{}, []float64{}
	for i := range n {
		for f, v := range values[i*d : (i+1)*d] {
			if v != 0 {
				columns, entries = append(columns, int32(f)), append(entries, v)
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
