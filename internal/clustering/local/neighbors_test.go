package local_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// Clusters that anyone sees are found on graphs of neighbors, of any data that has neighbors; and the graph alone
// gives the same answer.
func TestNeighborGraphs(t *testing.T) {
	for name, set := range easySets(t) {
		if set.data.Kind() == dataset.KindGraph {
			continue
		}
		for _, weights := range []neighbor.Weights{neighbor.WeightsDefault, neighbor.Gaussian} {
			for _, algorithm := range []clustering.Algorithm{&auto.Options{},
				&spectral.Options{Algorithm: spectral.Spectral}, &kernelkmeans.Options{}} {
				spec := clustering.Spec{
					K: set.k, MaxIterations: 100, Neighbors: clustering.Neighbors{Count: 8, Weights: weights},
					Algorithm: algorithm,
				}
				if _, isKernel := algorithm.(*kernelkmeans.Options); isKernel {
					spec.Initialization.Start = clustering.StartSpectral
				}
				result, err := local.Solve(t.Context(), set.data, spec, 2, clustering.NopObserver{})
				if err != nil {
					t.Fatalf("%s, %v, %s: %v", name, weights, algorithm.Name(), err)
				}
				truth := make([]int64, len(set.truth))
				for i, class := range set.truth {
					truth[i] = int64(class)
				}
				if scores, err := evaluate.Compare(result.Labels, truth, nil); err != nil || scores.ARI < 0.95 {
					t.Errorf("%s, %v, %s: the adjusted Rand index is %v, %v", name, weights, algorithm.Name(),
						scores.ARI, err)
				}
				graph := result.NeighborGraph.Graph
				spec.Neighbors.Count, spec.Neighbors.Weights = 0, 0
				again, err := local.Solve(t.Context(), graph, spec, 1, clustering.NopObserver{})
				if err != nil || !slices.Equal(again.Labels, result.Labels) ||
					!reflect.DeepEqual(again.History, result.History) {
					t.Errorf("%s, %v, %s: the graph alone gives another answer, %v", name, weights,
						algorithm.Name(), err)
				}
			}
		}
	}
}

// Columns in very different units are standardized, unless the job says otherwise, and it is said.
func TestNeighborsAreFoundInEvenUnits(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 200, 8, 3)
	for i := range points.N {
		points.Row(i)[2] = 1e6 * float64(i%7)
	}
	for scale, standardized := range map[clustering.Scale]bool{
		clustering.ScaleDefault: true, clustering.ScaleAuto: true, clustering.ScaleZscore: true,
		clustering.ScaleNone: false,
	} {
		var observer clusteringtest.Recorder
		result, err := local.Solve(t.Context(), points, clustering.Spec{
			K: 3, Neighbors: clustering.Neighbors{Count: 5}, Scale: scale,
			Algorithm: &spectral.Options{Algorithm: spectral.Spectral},
		}, 2, &observer)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(observer.Notices, result.Warnings) {
			t.Errorf("scale %v: heard %v, warned of %v", scale, observer.Notices, result.Warnings)
		}
		said := slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool {
			return n.Code == "COLUMNS_STANDARDIZED"
		})
		if (result.Units != nil) != standardized || said != (standardized && scale != clustering.ScaleZscore) {
			t.Errorf("scale %v: units %v, said %t", scale, result.Units, said)
		}
	}
}

func TestBadNeighbors(t *testing.T) {
	set := easySets(t)["blocks"]
	spec := clustering.Spec{
		K: 2, Neighbors: clustering.Neighbors{Count: 3}, Algorithm: &spectral.Options{Algorithm: spectral.Spectral},
	}
	if _, err := local.Solve(t.Context(), set.data, spec, 1, clustering.NopObserver{}); !fault.Is(refusal.Of(err),
		"OPTION_DOES_NOT_APPLY") {
		t.Errorf("a graph of a graph: %v", err)
	}
	points := &dataset.Points{N: 3, D: 1, Values: []float64{1, 2, 3}}
	_, err := local.Solve(t.Context(), points, spec, 1, clustering.NopObserver{})
	if !fault.Is(refusal.Of(err), "BAD_KNN") {
		t.Errorf("3 neighbors of 3 rows: %v", err)
	}
}
