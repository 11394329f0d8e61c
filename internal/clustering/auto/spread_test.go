package auto

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The solutions satisfy (I - passedOn N) x = given, and each has the same bits alone and beside others.
func TestSpreadSolvesItsSystems(t *testing.T) {
	const n = 300
	rng := clusteringtest.NewRand(1)
	edges, _, err := synth.Blocks(n, 3, 8, 1, rng)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	system := newNormalized(graph)
	given := make([][]float64, systemsAtOnce)
	for l := range given {
		given[l] = make([]float64, n)
		for range l + 1 {
			given[l][rng.IntN(n)] = 1
		}
	}
	together, err := system.spread(t.Context(), given, spreadTolerance)
	if err != nil {
		t.Fatal(err)
	}
	for l, x := range together {
		for i := range x {
			neighbors, weights := graph.Row(i)
			got := x[i]
			for at, j := range neighbors {
				if int(j) != i {
					got -= passedOn * system.factor[i] * weights[at] * system.factor[j] * x[j]
				}
			}
			if difference := got - given[l][i]; difference > 1e-7 || difference < -1e-7 {
				t.Fatalf("system %d, vertex %d: %g instead of %g", l, i, got, given[l][i])
			}
		}
		alone, err := system.spread(t.Context(), given[l:l+1], spreadTolerance)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(alone[0], x) {
			t.Errorf("system %d has other bits beside others", l)
		}
	}
}
