package planning

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// shapes have no values: nothing here reads them.
func pointShape(n, d int) *dataset.Points { return &dataset.Points{N: n, D: d} }

func sparseShape(n, d, perRow int) *dataset.SparsePoints {
	p := &dataset.SparsePoints{N: n, D: d, Column: make([]int32, n*perRow)}
	for at := range p.Column {
		p.Column[at] = int32(at % d)
	}
	return p
}

func TestPlansOfNeighbors(t *testing.T) {
	for _, c := range []struct {
		data     dataset.Dataset
		bytes    int64
		low, mib int64 // the plan's memory for one worker, in MiB
		why      string
	}{
		{pointShape(10_000, 784), 8 * 7_840_000, 119, 140, "holds the whole data set (59.8 MiB), and a copy"},
		{sparseShape(10_000, 5000, 50), 12 * 500_000, 15, 20, "holds the whole data set (5.72 MiB), and a copy"},
		// 128 rows at a time
		{&dataset.Kernel{N: 4000}, 8 * 16_000_000, 8, 16, "reads the rows of its tiles from the kernel matrix"},
	} {
		p := NeighborWorkload(c.data, c.bytes, 10)
		plan, err := Make(p, []Worker{{Threads: 2, Free: Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Bytes < c.low<<20 || plan.Bytes > c.mib<<20 || !strings.Contains(plan.Why, c.why) ||
			plan.Storage != "neighbors" || plan.Computed != 0 || plan.Seconds <= 0 {
			t.Errorf("%T: %+v", c.data, plan)
		}
		_, err = Make(p, []Worker{{Threads: 2, Free: plan.Bytes / 2}})
		if !fault.Is(err, DoesNotFit) || !strings.Contains(err.Error(), "free to start") {
			t.Errorf("%T with half of the memory: %v", c.data, err)
		}
	}
}

// A job on a graph of neighbors takes the time of the search and of the graph, and the memory of what takes more.
func TestPlansOfNeighborGraphs(t *testing.T) {
	const n, count = 100_000, 10
	data := pointShape(n, 16)
	search := NeighborWorkload(data, 8*16*n, count)
	onGraph := Workload{Matrix: &Matrix{Spec: kernel.MatrixSpec{Function: kernel.Adjacency, Rows: n, Columns: n}},
		DatasetBytes: dataset.CompressedBytes(n, 2*n*count), K: 5}
	both := onGraph
	both.Search = &search
	workers := []Worker{{Name: "a", Threads: 2, Free: Unlimited}, {Name: "b", Threads: 1, Free: Unlimited}}
	plans := make([]*Plan, 3)
	for at, p := range []Workload{search, onGraph, both} {
		var err error
		if plans[at], err = Make(p, workers); err != nil {
			t.Fatal(err)
		}
	}
	first, second, whole := plans[0], plans[1], plans[2]
	if whole.Seconds != first.Seconds+second.Seconds || whole.Bytes != max(first.Bytes, second.Bytes) ||
		whole.Storage != second.Storage {
		t.Errorf("planned as %+v", whole)
	}
	for at, share := range whole.Shares {
		if share.Bytes != max(first.Shares[at].Bytes, second.Shares[at].Bytes) {
			t.Errorf("share %+v", share)
		}
	}
	// The neighbors, the edges, and the graph twice: about 72 bytes for each neighbor, and as much again for garbage.
	if bytes := whole.CoordinatorBytes; bytes < 2*70*n*count || bytes > 2*80*n*count ||
		!strings.Contains(whole.Why, "at most 1000000 edges") {
		t.Errorf("%d bytes in the coordinator: %s", bytes, whole.Why)
	}
	if _, err := Make(both, []Worker{{Threads: 1, Free: first.Shares[0].Bytes / 3}}); !fault.Is(err, DoesNotFit) {
		t.Errorf("in too little memory: %v", err)
	}
}

// A worker without room for the graph still helps to find neighbors, and the plan counts its memory.
func TestPlansCountWorkersThatOnlySearch(t *testing.T) {
	const n, count = 100_000, 10
	search := NeighborWorkload(pointShape(n, 4), 8*4*n, count)
	onGraph := graph(n, n*count, 5)
	both := onGraph
	both.Search = &search
	workers := []Worker{{Name: "a", Threads: 1, Free: Unlimited},
		{Name: "b", Threads: 8, Free: onGraph.MinFreeBytes(8) - 1}}
	peaks, bytes := map[string]int64{}, int64(0)
	for _, p := range []Workload{search, onGraph} {
		plan, err := Make(p, workers)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range plan.Shares {
			peaks[share.Name] = max(peaks[share.Name], share.Bytes)
		}
	}
	whole, err := Make(both, workers)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range whole.Shares {
		if bytes += share.Bytes; share.Bytes != peaks[share.Name] || share.Name == "b" && share.Stored != 0 {
			t.Errorf("share %+v, want a peak of %d", share, peaks[share.Name])
		}
	}
	if len(peaks) != 2 || len(whole.Shares) != 2 || whole.Bytes != bytes || bytes != peaks["a"]+peaks["b"] {
		t.Errorf("%d bytes in shares %+v, want %v", whole.Bytes, whole.Shares, peaks)
	}
}

func TestTheTimeOfNeighbors(t *testing.T) {
	seconds := func(data dataset.Dataset) float64 { return NewNeighbors(data, 1).work() / 2 / 1e9 }
	for _, c := range []struct {
		data      dataset.Dataset
		low, high float64 // seconds of two threads, a factor of 3 around what was measured
	}{
		{pointShape(11_000, 16), 0.06, 0.6},
		{pointShape(10_000, 784), 1, 10},
		{pointShape(100_000, 2), 0.06, 0.6},
		{pointShape(100_000, 6), 0.7, 6},
		{sparseShape(60_000, 1000, 30), 0.3, 10},
		{&dataset.Kernel{N: 10_000}, 0.3, 3},
	} {
		if got := seconds(c.data); got < c.low || got > c.high {
			t.Errorf("%T of %d rows: %g s", c.data, c.data.Rows(), got)
		}
	}
	for _, more := range [][2]dataset.Dataset{
		{pointShape(1000, 5), pointShape(1001, 5)},
		{pointShape(1000, 5), pointShape(1000, 6)},
		{sparseShape(1000, 100, 5), sparseShape(1000, 100, 6)},
		{sparseShape(1000, 100, 5), sparseShape(1000, 50, 5)},
	} {
		if seconds(more[0]) >= seconds(more[1]) {
			t.Errorf("more does not take longer: %v", more)
		}
	}
}
