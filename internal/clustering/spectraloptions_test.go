package clustering

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// listener keeps the steps of eigensolvers and what was heard before the first iteration.
type listener struct {
	recorder
	steps []SolverStep
	early int // steps before the first iteration
}

func (l *listener) Solver(s SolverStep) { l.steps = append(l.steps, s) }

func (l *listener) Iteration(restart int, e Entry) {
	if len(l.entries) == 0 {
		l.early = len(l.steps)
	}
	l.recorder.Iteration(restart, e)
}

// The restarts and iterations of a spectral job are those of k-means on its embedding.
func TestEmbeddingIsClusteredAsAsked(t *testing.T) {
	g := randomGraph(t, newRand(3), 300, 6)
	vague := Spectral{Algorithm: SpectralClustering, Objective: ObjectiveRatioAssociation}
	answers := map[string]bool{}
	for _, c := range []struct{ restarts, iterations int }{{1, 1}, {1, 300}, {3, 2}, {10, 300}, {0, 0}} {
		vague.Eigenvectors = Eigenvectors{KmeansRestarts: c.restarts, KmeansMaxIterations: c.iterations}
		result, err := trySolveSpectral(g, Spec{K: 6, Seed: 4, Spectral: &vague})
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
		want, err := trySolveVector(points, Spec{K: 6, Seed: 4, Restarts: c.restarts, MaxIterations: c.iterations, Vector: &Vector{Algorithm: Kmeans}})
		if err != nil {
			t.Fatal(err)
		}
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
		problem, err := PrepareSpectral(g, Spec{K: 4, Seed: 1, Spectral: &Spectral{
			Algorithm: SpectralClustering, Eigenvectors: Eigenvectors{Tolerance: tolerance}}})
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewLocal(context.Background(), problem.Problem, g, 2)
		if err != nil {
			t.Fatal(err)
		}
		var heard listener
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

// The eigensolver of a spectral start is heard before the first iteration.
func TestSpectralStartIsHeard(t *testing.T) {
	g := randomGraph(t, newRand(5), 400, 4)
	problem, err := Prepare(g, Spec{K: 4, Seed: 1, MaxIterations: 3, Start: StartSpectral, KernelKmeans: &KernelKmeans{}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(context.Background(), problem, g, 2)
	if err != nil {
		t.Fatal(err)
	}
	var heard listener
	if _, err := Run(context.Background(), problem, x, &heard); err != nil {
		t.Fatal(err)
	}
	if len(heard.steps) < 2 || heard.early != len(heard.steps) {
		t.Fatalf("%d steps, %d of them before the first iteration", len(heard.steps), heard.early)
	}
	for at, s := range heard.steps {
		if s.Step != at+1 || s.Wanted != 4 || s.Tolerance != startTolerance {
			t.Errorf("step %d is %+v", at+1, s)
		}
	}
}

// Faults of a kernel name the message of the algorithm that was asked for it.
func TestKernelFaultsNameTheirAlgorithm(t *testing.T) {
	points, err := dataset.NewPoints(4, 1, []float64{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	pair := []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}
	for _, c := range []struct {
		field, reason string
		rho           float64
		degree        int
	}{
		{"kernel.degree", "OPTION_DOES_NOT_APPLY", 1, 3},
		{"kernel.rho", "BAD_RHO", 1e200, 0},
		{"kernel.rho", "BAD_RHO", 0, 0}, // all points are the same: there is no median distance
	} {
		_, err := Prepare(points, Spec{K: 2, KernelKmeans: &KernelKmeans{Rho: c.rho, Degree: c.degree}})
		check := func(name string, err error) {
			t.Helper()
			bad, is := err.(*fault.Error)
			if !is || bad.Reason != c.reason || bad.Field != "spec."+name+"."+c.field {
				t.Errorf("%s: got %#v, want %s", name, err, c.field)
			}
		}
		check("kernel_kmeans", err)
		for algorithm := SpectralClustering; algorithm <= ConstrainedSpectral; algorithm++ {
			_, err := PrepareSpectral(points, Spec{K: 2, Constraints: pair, Spectral: &Spectral{Algorithm: algorithm, Rho: c.rho, Degree: c.degree}})
			check(strings.ReplaceAll(algorithm.String(), "-", "_"), err)
		}
	}
}
