package planning

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

func points(n, d, k int, storage Storage) Workload {
	return Workload{
		Matrix: &Matrix{Spec: kernel.MatrixSpec{Function: kernel.Gaussian, Rows: n, Columns: d},
			SparseEntries: 20},
		DatasetBytes: 24 + 8*int64(n)*int64(d),
		K:            k, Storage: storage,
	}
}

func given(n, k int) Workload {
	p := points(n, n, k, Auto)
	p.Matrix.Spec.Function = kernel.Given
	return p
}

func graph(n, edges, k int) Workload {
	p := points(n, 0, k, Auto)
	p.Matrix.Spec.Function = kernel.Adjacency
	p.DatasetBytes = 24 + 8*int64(n+1) + 12*int64(edges)
	return p
}

func drawProblem(t *rapid.T) Workload {
	n := rapid.IntRange(1, 3000).Draw(t, "n")
	k := rapid.IntRange(1, min(n, 50)).Draw(t, "k")
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 5:
		p := dense(n, rapid.IntRange(1, 100).Draw(t, "d"), k)
		p.Scaled = rapid.Bool().Draw(t, "scaled")
		return p
	case 6:
		return drawSparse(t, n, rapid.IntRange(1, 1000).Draw(t, "d"), k)
	case 0:
		return given(n, k)
	case 1:
		return graph(n, rapid.IntRange(0, 10*n).Draw(t, "edges"), k)
	}
	p := points(n, rapid.IntRange(1, 100).Draw(t, "d"), k, Storage(rapid.IntRange(0, 2).Draw(t, "storage")))
	p.Scaled = rapid.Bool().Draw(t, "scaled")
	return p
}

func drawWorkers(t *rapid.T, maxFree int64) []Worker {
	workers := make([]Worker, rapid.IntRange(1, 6).Draw(t, "workers"))
	for w := range workers {
		workers[w] = Worker{
			Name: fmt.Sprint("w", w), Threads: rapid.IntRange(1, 8).Draw(t, "threads"),
			Free: rapid.Int64Range(-1000, maxFree).Draw(t, "free"),
		}
	}
	return workers
}

// all is more than enough memory for a worker of 8 threads to hold the whole job, stored.
func (w Workload) all() int64 {
	total := w.FixedBytes(8) + w.MinFreeBytes(8)
	for _, size := range w.TileSizes() {
		total += size.Stored
	}
	return total
}

// A plan never exceeds a worker's memory, places every tile, stores tiles as the mode says, and stores all if there is
// room.
func TestPlansKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		workers := drawWorkers(t, 2*p.all())
		plan, err := Make(p, workers)
		if err != nil {
			if p.fits(workers) {
				t.Fatalf("it fits, but: %v", err)
			}
			return
		}
		stored, computed, bytes := 0, 0, int64(0)
		for _, share := range plan.Shares {
			if share.Bytes > share.Free {
				t.Fatalf("worker %+v is to use more than it has", share)
			}
			stored, computed, bytes = stored+share.Stored, computed+share.Computed, bytes+share.Bytes
		}
		if stored != plan.Stored || computed != plan.Computed || stored+computed != plan.Tiles ||
			plan.Tiles != partition.TileCount(p.Rows()) || bytes != plan.Bytes {
			t.Fatalf("the shares do not add up: %+v", plan)
		}
		strict := p
		strict.Storage = Float32
		_, notAll := Make(strict, workers)
		switch rule := p.StorageRule(); {
		case rule == partition.StoreAll && computed > 0, rule == partition.StoreNone && stored > 0:
			t.Fatalf("storage %v of function %d gives %+v", p.Storage, p.Matrix.Spec.Function, plan)
		case rule == partition.StoreWhatFits && (notAll == nil) != (computed == 0):
			t.Fatalf("%d tiles are computed; all stored: %v", computed, notAll)
		}
		if !(plan.Seconds >= 0) || math.IsInf(plan.Seconds, 0) || plan.Passes < 2 || plan.Why == "" {
			t.Fatalf("plan %+v", plan)
		}
	})
}

// What a refusal says would fit really fits.
func TestRefusalsSayWhatWouldFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		workers := drawWorkers(t, p.all()/4)
		_, err := Make(p, workers)
		if err == nil {
			return
		}
		if !fault.Is(err, DoesNotFit) {
			t.Fatal(err)
		}
		if p.fits(workers) {
			t.Fatalf("refused although it fits: %v", err)
		}
		if more := p.moreWorkers(workers); more > 0 {
			largest := workers[0]
			for _, w := range workers {
				if w.Free > largest.Free {
					largest = w
				}
			}
			grown := workers
			for range more {
				grown = append(grown[:len(grown):len(grown)], largest)
			}
			if _, err := Make(p, grown); err != nil {
				t.Fatalf("%d more workers: %v", more, err)
			}
		}
	})
}

func TestPlans(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name             string
		p                Workload
		free             []int64
		stored, computed int
		storage, why     string
	}{
		{"plenty", points(5000, 8, 5, Auto), []int64{200 * mib, 200 * mib}, 20, 0, "float32",
			"all of the matrix is stored: it takes 95.5 MiB; 2 workers offer 400 MiB"},
		{"half", points(5000, 8, 5, Auto), []int64{50 * mib}, 10, 10, "float32+none", "10 of 20 tiles fit in memory"},
		{"hardly any", points(5000, 8, 5, Auto), []int64{3 * mib}, 0, 20, "none",
			"no tile of 4.88 MiB fits in memory: 1 worker offers 3 MiB"},
		{"as requested", points(5000, 8, 5, None), []int64{200 * mib}, 0, 20, "none",
			"no entry is stored, as requested"},
		{"one big, one small", points(5000, 8, 5, Auto), []int64{200 * mib, 3 * mib}, 20, 0, "float32",
			"all of the matrix is stored"},
		{"given", given(2000, 5), []int64{40 * mib, 40 * mib}, 32, 0, "float32", "all of the matrix"},
		{"graph", graph(5000, 100_000, 5), []int64{10 * mib}, 20, 0, "sparse", "a graph is never made dense"},
		{"no limit", points(5000, 8, 5, Auto), []int64{Unlimited}, 20, 0, "float32", "unlimited memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var workers []Worker
			for w, free := range c.free {
				workers = append(workers, Worker{Name: fmt.Sprint("w", w), Threads: 1, Free: free})
			}
			plan, err := Make(c.p, workers)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Stored != c.stored || plan.Computed != c.computed || plan.Storage != c.storage ||
				!strings.Contains(plan.Why, c.why) {
				t.Errorf("plan %+v", plan)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name string
		p    Workload
		free int64
		want []string
	}{
		{"float32", points(20_000, 16, 10, Float32), 512 * mib,
			[]string{"with storage float32 it needs 1.5 GiB for 20000 rows in 20 tiles of 78.3 MiB",
				"512 MiB are free on 1 worker",
				"storage auto (or none)", "more workers like the largest"}},
		{"auto", points(200_000, 16, 1000, Auto), 512 * mib,
			[]string{"even without storing the matrix it needs 1.54 GiB", "3 more workers"}},
		{"given", given(20_000, 10), 512 * mib, []string{"with storage auto it needs", "free to start"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Make(c.p, []Worker{{Name: "w", Threads: 2, Free: c.free}})
			if !fault.Is(err, DoesNotFit) {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
			if strings.Contains(err.Error(), "what would fit: storage") != (c.p.Storage == Float32) {
				t.Errorf("advice about storage in %q", err)
			}
		})
	}
	if _, err := Make(points(math.MaxInt32, 1000, 10, Auto), nil); !fault.Is(err, DoesNotFit) {
		t.Errorf("nobody at all: %v", err)
	}
}

// Without stored tiles, memory grows with n k + n d, not with n^2.
func TestMatrixFreeMemoryIsLinear(t *testing.T) {
	small, err := Make(points(100_000, 16, 10, None), []Worker{{Threads: 2, Free: Unlimited}})
	if err != nil {
		t.Fatal(err)
	}
	large, err := Make(points(200_000, 16, 10, None), []Worker{{Threads: 2, Free: Unlimited}})
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(large.Bytes) / float64(small.Bytes); ratio > 2.01 || large.Bytes > 100<<20 {
		t.Errorf("%d bytes for 100,000 points, %d for 200,000", small.Bytes, large.Bytes)
	}
}

func TestTimesGrowWithTheWork(t *testing.T) {
	seconds := func(change func(*Workload), threads int) float64 {
		p := points(20_000, 16, 10, Auto)
		change(&p)
		plan, err := Make(p, []Worker{{Threads: threads, Free: Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Seconds
	}
	base := seconds(func(*Workload) {}, 2)
	for name, more := range map[string]float64{
		"rows":         seconds(func(p *Workload) { p.Matrix.Spec.Rows *= 2 }, 2),
		"features":     seconds(func(p *Workload) { p.Matrix.Spec.Columns *= 50 }, 2),
		"clusters":     seconds(func(p *Workload) { p.K *= 50 }, 2),
		"restarts":     seconds(func(p *Workload) { p.Restarts = 10 }, 2),
		"shift":        seconds(func(p *Workload) { p.Matrix.Shift = true }, 2),
		"degrees":      seconds(func(p *Workload) { p.Matrix.Degrees = true }, 2),
		"fewer cores":  seconds(func(*Workload) {}, 1),
		"not stored":   seconds(func(p *Workload) { p.Storage = None }, 2),
		"other kernel": seconds(func(p *Workload) { p.Matrix.Spec.Function = kernel.Laplacian }, 2),
	} {
		if more <= base {
			t.Errorf("more %s: %g s instead of %g s", name, more, base)
		}
	}
}

// The memory of a graph depends on its edges, not on k.
func TestGraphMemoryFollowsTheEdges(t *testing.T) {
	few := graph(100_000, 500_000, 10)
	many := graph(100_000, 500_000, 1000)
	if a, b := few.FixedBytes(1), many.FixedBytes(1); b > a+100_000 {
		t.Errorf("%d bytes for 10 clusters, %d for 1000", a, b)
	}
	if few.TileSize(0) != many.TileSize(0) {
		t.Errorf("a tile takes %+v or %+v", few.TileSize(0), many.TileSize(0))
	}
	if few, many := few.FixedBytes(1), graph(100_000, 5_000_000, 10).FixedBytes(1); many < 2*few {
		t.Errorf("%d bytes for 500,000 edges, %d for ten times as many", few, many)
	}
}

// A workload that does not say yet what its tiles are needs nothing.
func TestAWorkloadOfNothing(t *testing.T) {
	var nothing Workload
	if sizes, bytes := nothing.TileSizes(), nothing.CoordinatorBytes(); len(sizes) > 0 || bytes != 0 {
		t.Errorf("it has %d tiles and takes %d bytes", len(sizes), bytes)
	}
	plan, err := Make(nothing, []Worker{{Threads: 1, Free: 1 << 30}})
	if err != nil || plan.Tiles != 0 || plan.Seconds != 0 {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
}
