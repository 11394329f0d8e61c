package krange

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// blocks is a graph of blocks of vertices, which have edges within them by one chance and between them by another.
func blocks(t *testing.T, count, size int, within, between float64) *dataset.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 2))
	var edges []dataset.Edge
	for i := range count * size {
		for j := range i {
			chance := between
			if i/size == j/size {
				chance = within
			}
			if rng.Float64() < chance {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 0.5 + rng.Float64()})
			}
		}
	}
	g, err := dataset.NewGraph(count*size, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The gaps are those of all eigenvalues of the normalized matrix, the same on any number of threads, and largest after
// as many as there are blocks.
func TestEigengaps(t *testing.T) {
	const count, k = 4, 7
	g := blocks(t, count, 25, 0.5, 0.02)
	gaps, err := eigengaps(t.Context(), g, k, 1, clustering.Spec{Seed: 1})
	if err != nil || len(gaps) != k+1 {
		t.Fatal(gaps, err)
	}
	degrees := make([]float64, g.N)
	for i := range g.N {
		_, weights := g.Row(i)
		for _, w := range weights {
			degrees[i] += w
		}
	}
	dense := mat.NewSymDense(g.N, nil)
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			dense.SetSym(i, int(j), weights[at]/math.Sqrt(degrees[i]*degrees[j]))
		}
	}
	var all mat.EigenSym
	if !all.Factorize(dense, false) {
		t.Fatal("no eigenvalues")
	}
	values := all.Values(nil)
	slices.Reverse(values)
	for at := 1; at <= k; at++ {
		if want := values[at-1] - values[at]; math.Abs(gaps[at]-want) > 1e-4 {
			t.Errorf("the gap after %d is %v, not %v", at, gaps[at], want)
		}
	}
	if best := slices.Index(gaps, slices.Max(gaps[2:])); best != count {
		t.Errorf("the gap is largest after %d of %v", best, gaps)
	}
	again, err := eigengaps(t.Context(), g, k, 3, clustering.Spec{Seed: 1})
	if err != nil || !slices.Equal(again, gaps) {
		t.Errorf("%v on three threads, %v on one; %v", again, gaps, err)
	}
}

// A graph of fewer vertices than clusters has none.
func TestNoEigengaps(t *testing.T) {
	g := blocks(t, 1, 5, 1, 0)
	if gaps, err := eigengaps(t.Context(), g, 5, 1, clustering.Spec{Seed: 1}); gaps != nil || err != nil {
		t.Error(gaps, err)
	}
}
