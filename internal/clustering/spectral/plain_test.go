package spectral

import (
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The plain objective counts edges and nothing else, also where constraints are part of the matrix, as they are in
// the objective of spectral alone.
func TestPlainObjectiveCountsEdges(t *testing.T) {
	const k = 3
	g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(4), 90, k)
	links := clusteringtest.RandomConstraints(clusteringtest.NewRand(6), 90, k, 40)
	for _, o := range []Options{
		{Algorithm: Spectral}, {Algorithm: Spectral, Objective: kernelkmeans.ObjectiveRatioAssociation},
		{Algorithm: Learning}, {Algorithm: Constrained}, {Algorithm: Constrained, BetaRule: BetaPaper},
	} {
		result, err := trySolve(g, clustering.Spec{
			K: k, Seed: 1, Supervision: clustering.Supervision{Constraints: links}, Algorithm: &o,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := *result.Kernel.PlainObjective
		if want := edgeObjective(g, result.Labels, k, o.Objective); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("%v: %.12g, the edges give %.12g", o.Algorithm, got, want)
		}
		if (got != result.Objective) != (o.Algorithm == Spectral) {
			t.Errorf("%v: %.12g beside the objective %.12g", o.Algorithm, got, result.Objective)
		}
	}
}

// edgeObjective is the normalized cut or the ratio association of labels, edge by edge.
func edgeObjective(g *dataset.Graph, labels []int32, k int, objective kernelkmeans.Objective) float64 {
	size := make([]float64, k)
	degree := make([]float64, k)
	within := make([]float64, k)
	for i, c := range labels {
		size[c]++
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			degree[c] += weights[at]
			if labels[j] == c {
				within[c] += weights[at]
			}
		}
	}
	total := 0.0
	for c := range k {
		switch {
		case size[c] == 0:
		case objective == kernelkmeans.ObjectiveRatioAssociation:
			total += within[c] / size[c]
		default:
			total += (degree[c] - within[c]) / degree[c]
		}
	}
	return total
}
