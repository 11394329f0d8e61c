package spectral

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The restarts and iterations of a spectral job are those of k-means on its embedding.
func TestEmbeddingIsClusteredAsAsked(t *testing.T) {
	g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(3), 300, 6)
	vague := Options{Algorithm: Spectral, Objective: kernelkmeans.ObjectiveRatioAssociation}
	answers := map[string]bool{}
	for _, c := range []struct{ restarts, iterations int }{{1, 1}, {1, 300}, {3, 2}, {10, 300}, {0, 0}} {
		vague.Eigenvectors = Eigenvectors{KmeansRestarts: c.restarts, KmeansMaxIterations: c.iterations}
		result, err := trySolve(g, clustering.Spec{K: 6, Seed: 4, Algorithm: &vague})
		if err != nil {
			t.Fatal(err)
		}
		points, err := dataset.NewPoints(300, result.Spectral.Embedding.Columns, result.Spectral.Embedding.Values)
		if err != nil {
			t.Fatal(err)
		}
		if c.restarts == 0 {
			c.restarts, c.iterations = 10, 300
		}
		want := solveRows(t, points, clustering.Spec{K: 6, Seed: 4, Restarts: c.restarts, MaxIterations: c.iterations,
			Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}})
		if !slices.Equal(result.Labels, want.Labels) {
			t.Errorf("%+v: the labels are not those of k-means", c)
		}
		key := ""
		for _, label := range result.Labels {
			key += string(rune('a' + label))
		}
		answers[key] = true
	}
	if len(answers) < 3 {
		t.Errorf("%d different answers: the options make no difference", len(answers))
	}
}

// The tolerance of a spectral job is that of its residuals: a loose one saves products.
func TestEigensolverKeepsItsTolerance(t *testing.T) {
	g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(5), 400, 4)
	products := 1 << 30
	for _, tolerance := range []float64{1e-11, 0, 1e-3} {
		problem, err := Prepare(g,
			clustering.Spec{K: 4, Seed: 1,
				Algorithm: &Options{Algorithm: Spectral, Eigenvectors: Eigenvectors{Tolerance: tolerance}}})
		if err != nil {
			t.Fatal(err)
		}
		x, err := kernelkmeans.NewLocal(context.Background(), problem.Problem, g, 2)
		if err != nil {
			t.Fatal(err)
		}
		var heard clusteringtest.Recorder
		result, err := problem.RunAndScore(context.Background(), x, &heard)
		if err != nil {
			t.Fatal(err)
		}
		if tolerance == 0 {
			tolerance = 1e-8
		}
		last := heard.Steps[len(heard.Steps)-1]
		if slices.Max(result.Spectral.Eigen.Residuals) > tolerance || last.Residual > tolerance ||
			last.Tolerance != tolerance {
			t.Errorf("tolerance %g: residuals %v, last step %+v", tolerance, result.Spectral.Eigen.Residuals, last)
		}
		if result.Spectral.Eigen.Products >= products {
			t.Errorf("tolerance %g takes %d products, a smaller one %d", tolerance, result.Spectral.Eigen.Products,
				products)
		}
		if last.StepsLeft == nil || *last.StepsLeft != 0 {
			t.Errorf("tolerance %g: at the end %v steps are left", tolerance, last.StepsLeft)
		}
		products = result.Spectral.Eigen.Products
	}
}

// A width that cannot be found names the message of the algorithm that was asked for it: all points are the
// same, and there is no median distance.
func TestKernelFaultsNameTheirAlgorithm(t *testing.T) {
	points, err := dataset.NewPoints(4, 1, []float64{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	pair := []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}
	check := func(name string, err error) {
		t.Helper()
		bad, ok := refusal.Of(err).(*fault.Error)
		if !ok || bad.Reason != "BAD_RHO" || bad.Field != "spec."+name+".kernel.rho" {
			t.Errorf("%s: got %#v", name, err)
		}
	}
	_, err = kernelkmeans.Prepare(points, clustering.Spec{K: 2, Algorithm: &kernelkmeans.Options{}})
	check("kernel_kmeans", err)
	for algorithm := Spectral; algorithm <= Constrained; algorithm++ {
		_, err := Prepare(points, clustering.Spec{
			K: 2, Supervision: clustering.Supervision{Constraints: pair}, Algorithm: &Options{Algorithm: algorithm},
		})
		check(strings.ReplaceAll(algorithm.String(), "-", "_"), err)
	}
}

// A search that came to its limit of products says so, in a notice and as the reason to stop.
func TestUnconvergedSearchIsNotCalledConverged(t *testing.T) {
	heard := &clusteringtest.Recorder{}
	m := &method{Problem: &Problem{}, o: heard, stop: clustering.StopConverged}
	m.warnUnconverged(true, []float64{1e-9})
	if m.stop != clustering.StopConverged || len(heard.Notices) > 0 {
		t.Errorf("converged, it stops by %v with %v", m.stop, heard.Notices)
	}
	m.warnUnconverged(false, []float64{1e-3})
	if m.stop != clustering.StopMaxProducts || heard.Notices[0].Code != "NOT_CONVERGED" {
		t.Errorf("not converged, it stops by %v with %v", m.stop, heard.Notices)
	}
}
