package planning

import (
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/kernel"
)

// A range of k takes more of the coordinator than its largest k alone: results of all, and eigenvectors that they
// share.
func TestMemoryOfARange(t *testing.T) {
	one := Workload{Matrix: &Matrix{Spec: kernel.MatrixSpec{Function: kernel.Adjacency, Rows: 1000}}, K: 10,
		Coordinator: Coordinator{Eigen: &Eigensolver{Pairs: 10, Columns: 10, Restarts: 10}}}
	several := one
	several.Range = &Range{Numbers: 9, Columns: 10, Labelings: 10, PartBytes: 77}
	const rows, results, shared = 1000, 9 * (4 + 16 + 10 + 80), 80
	if more, want := several.CoordinatorBytes()-one.CoordinatorBytes(),
		int64(gcFactor*rows*(results+shared)+77); more != want {
		t.Errorf("%d bytes more, want %d", more, want)
	}
	several.Matrix = &Matrix{Spec: kernel.MatrixSpec{Function: kernel.Adjacency, Rows: math.MaxInt32}}
	several.Range = &Range{Numbers: 64, Columns: math.MaxInt32}
	if got := several.CoordinatorBytes(); got < Unlimited {
		t.Errorf("%d bytes of a range that no memory holds", got)
	}
}
