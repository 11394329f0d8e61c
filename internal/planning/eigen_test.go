package planning

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func withEigenvectors(p Workload, pairs int) Workload {
	p.Matrix.Products, p.Matrix.Degrees = 16, true
	p.Eigen = &Eigensolver{Pairs: pairs, Columns: p.K, Restarts: 10}
	return p
}

func planFor(t *testing.T, p Workload) *Plan {
	t.Helper()
	plan, err := Make(p, []Worker{{Threads: 2, Free: Unlimited}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestPlansOfEigenvectors(t *testing.T) {
	leading := planFor(t, withEigenvectors(points(10_000, 16, 10, Auto), 10))
	cuts := withEigenvectors(graph(100_000, 2_000_000, 2), 8)
	cuts.Eigen.Generalized, cuts.Eigen.Columns = true, 1
	constrained := planFor(t, cuts)
	small := withEigenvectors(graph(1000, 5000, 2), 8)
	small.Eigen.Dense = true
	exact := planFor(t, small)
	for _, c := range []struct {
		plan     *Plan
		products int64
		passes   float64
		columns  int64 // of 8 n bytes each, on the coordinator
		why      string
	}{
		// A block of 14 takes one pass; the degrees and the objective take one each.
		{leading, 20 * 14, 20 + 2, 3*70 + 6*14,
			"is assumed to take 280 products of the matrix with a vector, in steps of 14"},
		{constrained, 20 * 12, 20 + 2, 4*60 + 16*12, "is assumed to take 240 products"},
		{exact, 1000, 62 + 2, 6 * 1000, "found at once, from all 1000 columns"},
	} {
		rows := int64(c.plan.Tiles) * int64(c.plan.TileRows)
		if c.plan.Products != c.products || c.plan.Passes != c.passes || !strings.Contains(c.plan.Why, c.why) {
			t.Errorf("%d products, %g passes, %s", c.plan.Products, c.plan.Passes, c.plan.Why)
		}
		if columns := float64(c.plan.CoordinatorBytes) / 8 / gcFactor /
			float64(rows); columns < 0.95*float64(c.columns) || columns > float64(c.columns) {
			t.Errorf("the coordinator holds about %.0f columns, not %d", columns, c.columns)
		}
	}
	if plain := planFor(t, graph(1000, 5000, 2)); plain.Products != 0 || plain.CoordinatorBytes != 0 ||
		strings.Contains(plain.Why, "eigen") {
		t.Errorf("a job without eigenvectors is planned as %+v", plain)
	}
	// As the start of other iterations they are additional.
	start := withEigenvectors(points(10_000, 16, 10, Auto), 10)
	start.Eigen.OnlyForStart = true
	if got, want := planFor(t, start).Passes, leading.Passes; got <= want {
		t.Errorf("%g passes with iterations, %g without", got, want)
	}
}

// More of anything takes no less memory and no less time.
func TestEigenvectorsTakeMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(100, 100_000).Draw(t, "n")
		pairs := rapid.IntRange(1, 60).Draw(t, "pairs")
		p := withEigenvectors(graph(n, 5*n, 2), pairs)
		q := p
		q.Eigen = &Eigensolver{Pairs: pairs, Columns: p.K, Restarts: 10}
		switch rapid.IntRange(0, 2).Draw(t, "more") {
		case 0:
			q.Eigen.Pairs++
		case 1:
			q.Eigen.SparseEntries = 1 << 20
		case 2:
			matrix := *p.Matrix
			matrix.Spec.Rows++
			q.Matrix = &matrix
		}
		less, err := Make(p, []Worker{{Threads: 1, Free: Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		more, err := Make(q, []Worker{{Threads: 1, Free: Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		if more.CoordinatorBytes <= less.CoordinatorBytes || more.Seconds < less.Seconds {
			t.Fatalf("%+v instead of %+v", more, less)
		}
	})
}
