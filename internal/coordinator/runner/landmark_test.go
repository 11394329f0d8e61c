package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// A matrix that takes long is run as asked, with a notice that proposes landmarks; a small one without. By landmarks
// the same points are counted as features.
func TestLargeMatricesHaveANotice(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 400_000, 2, 3)
	spec := clustering.Spec{K: 3, MaxIterations: 100, Choose: true, Algorithm: &kernelkmeans.Options{Rho: 1}}
	for _, c := range []struct {
		rows int
		want bool
	}{{points.N, true}, {2000, false}} {
		some := *points
		some.N = c.rows
		some.Values = points.Values[:c.rows*points.D]
		r, err := runnerOf(t.Context(), &some, spec, 16*int64(c.rows))
		if err != nil {
			t.Fatal(err)
		}
		proposed := slices.ContainsFunc(r.(*oneRunner).job.Matrix.Problem.Warnings, func(n clustering.Notice) bool {
			return n.Code == "LARGE_MATRIX" && strings.Contains(n.Message, "landmarks 1000 would take about")
		})
		if proposed != c.want {
			t.Errorf("%d rows: %v", c.rows, r.(*oneRunner).job.Matrix.Problem.Warnings)
		}
	}
	spec.Algorithm = &kernelkmeans.Options{Rho: 1, Landmarks: 50}
	r, err := runnerOf(t.Context(), points, spec, 16*int64(points.N))
	if err != nil {
		t.Fatal(err)
	}
	need := r.Need()
	if f := need.Vectors.Features; f == nil || f.Landmarks != 50 || f.Columns != 2 || need.Restarts != 1 ||
		r.Objective() != "kernel-kmeans" {
		t.Errorf("%+v of %+v, objective %s", f, need.Vectors, r.Objective())
	}
}
