package planning

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

func dense(n, d, k int) Workload {
	return Workload{Vectors: &Vectors{Rows: n, Columns: d, Width: d}, DatasetBytes: 24 + 8*int64(n)*int64(d), K: k}
}

func drawSparse(t *rapid.T, n, d, k int) Workload {
	p := dense(n, d, k)
	total := int64(0)
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
		{"dense", dense(5000, 8, 5), []int64{2 * mib, 2 * mib}, "vectors",
			"all points are stored as float64, in 314 KiB over all workers"},
		{"sparse", sparse, []int64{140 * mib}, "sparse vectors",
			"also holds the whole data set (2.29 MiB); 1 worker offers 140 MiB"},
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
			if plan.Stored != 20 || plan.Computed != 0 || plan.Storage != c.storage ||
				!strings.Contains(plan.Why, c.why) || plan.Passes < 100 {
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
	if _, err := Make(dense(math.MaxInt32, math.MaxInt32, math.MaxInt32),
		[]Worker{{Threads: 64, Free: Unlimited}}); !fault.Is(err, DoesNotFit) {
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
