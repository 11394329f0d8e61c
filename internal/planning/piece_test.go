package planning

import (
	"testing"

	"github.com/cleave-project/cleave/internal/kernel"
)

// The largest piece of a small job takes moments, that of a huge one minutes; it depends neither on the restarts nor
// on how many workers there are.
func TestPieceSeconds(t *testing.T) {
	gaussian := func(rows, columns int) Workload {
		spec := kernel.MatrixSpec{Function: kernel.Gaussian, Rows: rows, Columns: columns}
		return Workload{Matrix: &Matrix{Spec: spec}, K: 10,
			DatasetBytes: int64(8 * rows * columns)}
	}
	vectors := func(rows, columns int) Workload {
		return Workload{Vectors: &Vectors{Rows: rows, Columns: columns, Width: columns}, K: 10,
			DatasetBytes: int64(8 * rows * columns), Restarts: 10_000}
	}
	for _, c := range []struct {
		name     string
		need     Workload
		from, to float64
	}{
		{"a few points", gaussian(200, 3), 0, 0.01},
		{"many points", gaussian(1_000_000, 1000), 20, 1000},
		{"a few vectors", vectors(200, 3), 0, 0.01},
		{"many vectors", vectors(10_000_000, 100), 10, 1000},
		{"a graph", Workload{Matrix: &Matrix{Spec: kernel.MatrixSpec{Function: kernel.Adjacency, Rows: 1_000_000}},
			K:            10,
			DatasetBytes: 8_000_000 + 12*20_000_000}, 0.1, 60},
		{"neighbors", Workload{Neighbors: &Neighbors{Rows: 100_000, Columns: 20, Count: 10, Entries: 2_000_000},
			DatasetBytes: 16_000_000}, 0.1, 60},
	} {
		if got := c.need.PieceSeconds(); !(got >= c.from && got <= c.to) {
			t.Errorf("%s: %v s, want %v to %v", c.name, got, c.from, c.to)
		}
	}
}
