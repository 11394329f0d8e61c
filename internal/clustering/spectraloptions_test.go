package clustering

import (
	"context"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/dataset"
)

// The restarts and iterations of a spectral job are those of k-means on its embedding.
func TestEmbeddingIsClusteredAsAsked(t *testing.T) {
	g := randomGraph(t, newRand(3), 300, 6)
	vague := &Spectral{Algorithm: SpectralClustering, Objective: ObjectiveRatioAssociation}
	answers := map[string]bool{}
	for _, c := range []struct{ restarts, iterations int }{{1, 1}, {1, 300}, {3, 2}, {10, 300}, {0, 0}} {
		result, err := trySolveSpectral(g, Spec{K: 6, Seed: 4, Restarts: c.restarts, MaxIterations: c.iterations, Algorithm: vague})
		if err != nil {
			t.Fatal(err)
		}
		points, err := dataset.NewPoints(300, result.Embedding.Columns, result.Embedding.Values)
		if err != nil {
			t.Fatal(err)
		}
		if c.restarts == 0 {
			c.restarts, c.iterations = 10, 300
		}
		want := solveRows(t, points, Spec{K: 6, Seed: 4, Restarts: c.restarts, MaxIterations: c.iterations, Algorithm: &Vector{Algorithm: Kmeans}})
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
	g := randomGraph(t, newRand(5), 400, 4)
	products := 1 << 30
	for _, tolerance := range []float64{1e-11, 0, 1e-3} {
		problem, err := PrepareSpectral(g, Spec{K: 4, Seed: 1, Tolerance: tolerance, Algorithm: &Spectral{Algorithm: SpectralClustering}})
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewLocal(context.Background(), problem.Problem, g, 2)
		if err != nil {
			t.Fatal(err)
		}
		var heard recorder
		result, err := RunSpectral(context.Background(), problem, x, &heard)
		if err != nil {
			t.Fatal(err)
		}
		if tolerance == 0 {
			tolerance = 1e-8
		}
		last := heard.steps[len(heard.steps)-1]
		if slices.Max(result.Spectral.Residuals) > tolerance || last.Residual > tolerance || last.Tolerance != tolerance {
			t.Errorf("tolerance %g: residuals %v, last step %+v", tolerance, result.Spectral.Residuals, last)
		}
		if result.Spectral.Products >= products {
			t.Errorf("tolerance %g takes %d products, a smaller one %d", tolerance, result.Spectral.Products, products)
		}
		if last.StepsLeft == nil || *last.StepsLeft != 0 {
			t.Errorf("tolerance %g: at the end %v steps are left", tolerance, last.StepsLeft)
		}
		products = result.Spectral.Products
	}
}
