package planning

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/kernel"
)

func matrixOf(rows, columns, k int) Workload {
	return Workload{
		Matrix: &Matrix{
			Spec:         kernel.MatrixSpec{Function: kernel.Gaussian, Rows: rows, Columns: columns},
			Landmarkable: true,
		},
		DatasetBytes: 8 * int64(rows) * int64(columns), K: k,
		Restarts: 10, Lanes: 10,
	}
}

// Landmarks are proposed where the matrix takes longer than minutes, and are then much faster; not where it does not,
// where they do not apply, and where there would be too few for the clusters.
func TestWhenLandmarksAreProposed(t *testing.T) {
	ofGraph := matrixOf(1_000_000, 16, 20)
	ofGraph.Matrix.Landmarkable = false
	for name, c := range map[string]struct {
		need Workload
		want string
	}{
		"a million":     {matrixOf(1_000_000, 16, 20), "landmarks 1000 would take about"},
		"few points":    {matrixOf(5000, 16, 20), ""},
		"many clusters": {matrixOf(1_000_000, 16, 500), ""},
		"a graph's":     {ofGraph, ""},
	} {
		if got := LandmarkProposal(c.need); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		plan, err := Make(c.need, []Worker{{Threads: 2, Free: Unlimited}})
		if err != nil || strings.Contains(plan.Why, "landmarks") != (c.want != "") {
			t.Errorf("%s: %v, %v", name, plan, err)
		}
	}
}

// A million points of 16 columns by 1000 landmarks, k = 20: measured were 2.8 GiB in one process with the client, and
// less than a minute on two cores.
func TestThePlanOfLandmarks(t *testing.T) {
	p := matrixOf(1_000_000, 16, 20).byLandmarks()
	plan, err := Make(p, []Worker{{Threads: 2, Free: 8 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Seconds < 10 || plan.Seconds > 100 || plan.Bytes < 1<<30 || plan.Bytes > 4<<30 ||
		plan.CoordinatorBytes < 32<<20 || plan.CoordinatorBytes > 500<<20 {
		t.Errorf("%v s, %d MiB and %d MiB in the coordinator", plan.Seconds, plan.Bytes>>20, plan.CoordinatorBytes>>20)
	}
	if !strings.Contains(plan.Why, "128 features") || !strings.Contains(plan.Why, "1000 landmarks") {
		t.Errorf("%s", plan.Why)
	}
	whole := p
	whole.Whole = true
	if p.FixedBytes(2) > whole.FixedBytes(2)-p.DatasetBytes {
		t.Errorf("%d bytes by rows, %d with the whole data set", p.FixedBytes(2), whole.FixedBytes(2))
	}
	p = whole
	plain := p
	vectors := *p.Vectors
	vectors.Features = nil
	plain.Vectors = &vectors
	if p.FixedBytes(2)-plain.FixedBytes(2) < kernel.FeatureBytes(1_000_000, 16, 1000, 128) {
		t.Errorf("%d bytes with features, %d without", p.FixedBytes(2), plain.FixedBytes(2))
	}
}
