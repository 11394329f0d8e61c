package spectral

import (
	"context"
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// counted counts the products of an executor's matrix.
type counted struct {
	kernelkmeans.Executor
	products int
}

func (c *counted) Matrix() kernelkmeans.Matrix { return countedMatrix{c.Executor.Matrix(), c} }

type countedMatrix struct {
	kernelkmeans.Matrix
	*counted
}

func (c countedMatrix) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	c.products += len(x)
	return c.Matrix.Multiply(ctx, x)
}

// solveCounted runs a problem, with eigenvectors of others if shared is not nil.
func solveCounted(t *testing.T, g *dataset.Graph, spec clustering.Spec, shared *Shared) (*clustering.Result, int) {
	t.Helper()
	p, err := Prepare(g, spec)
	if err != nil {
		t.Fatal(err)
	}
	p.Share(shared)
	x, err := kernelkmeans.NewLocal(t.Context(), p.Problem, g, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Executor: x}
	result, err := p.RunAndScore(t.Context(), c, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result, c.products
}

// Of problems that share eigenvectors only the first looks for them, whatever its k, and answers are those without
// sharing but for the precision of eigenvectors.
func TestSharedEigenvectors(t *testing.T) {
	const most = 4
	g, _, _ := grid(t, 3, 2, 2, 220) // more than are solved from all entries
	links := clusteringtest.RandomConstraints(clusteringtest.NewRand(6), g.N, 2, 60)
	for _, o := range []Options{{Algorithm: Spectral}, {Algorithm: Learning}, {Algorithm: Constrained}} {
		spec := clustering.Spec{Seed: 1, Algorithm: &o}
		if o.Algorithm != Spectral {
			spec.Supervision.Constraints = links
		}
		shared := NewShared(most)
		for spec.K = 2; spec.K <= most; spec.K++ {
			alone, _ := solveCounted(t, g, spec, nil)
			found, products := solveCounted(t, g, spec, shared)
			if (products > 0) != (spec.K == 2) {
				t.Errorf("%v: %d products for k = %d", o.Algorithm, products, spec.K)
			}
			if len(found.Spectral.Eigen.Eigenvalues) != len(alone.Spectral.Eigen.Eigenvalues) ||
				found.Spectral.Embedding.Columns != alone.Spectral.Embedding.Columns {
				t.Fatalf("%v, k = %d: eigenvalues %v, alone %v", o.Algorithm, spec.K, found.Spectral.Eigen.Eigenvalues,
					alone.Spectral.Eigen.Eigenvalues)
			}
			for at, v := range alone.Spectral.Eigen.Eigenvalues[:2] {
				if math.Abs(found.Spectral.Eigen.Eigenvalues[at]-v) > 1e-6 {
					t.Errorf("%v, k = %d: eigenvalues %v, alone %v", o.Algorithm, spec.K,
						found.Spectral.Eigen.Eigenvalues, alone.Spectral.Eigen.Eigenvalues)
				}
			}
			if scores, err := evaluate.Compare(found.Labels, alone.Labels, nil); err != nil ||
				spec.K == 2 && scores.ARI < 1 {
				t.Errorf("%v, k = %d: labels agree by %v, %v", o.Algorithm, spec.K, scores.ARI, err)
			}
		}
	}
}

// Constraints that are entries of the matrix weigh another amount for every k: nothing is shared.
func TestNothingToShare(t *testing.T) {
	g, _, _ := grid(t, 3, 2, 2, 20)
	spec := clustering.Spec{
		K: 2, Seed: 1, Algorithm: &Options{Algorithm: Spectral},
		Supervision: clustering.Supervision{Constraints: clusteringtest.RandomConstraints(clusteringtest.NewRand(6),
			g.N, 2, 60)},
	}
	shared := NewShared(4)
	for range 2 {
		if _, products := solveCounted(t, g, spec, shared); products == 0 {
			t.Error("eigenvectors of another matrix were taken")
		}
	}
}
