package local_test

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// seedsOf returns the true labels of the first rows.
func seedsOf(truth []int32, count int) []constraint.Seed {
	seeds := make([]constraint.Seed, count)
	for i := range seeds {
		seeds[i] = constraint.Seed{Index: int32(i), Label: truth[i]}
	}
	return seeds
}

// From 200 seeds on, only classifiers are compared, and they are no worse than what was compared before.
func TestAutoWithManySeedsComparesClassifiers(t *testing.T) {
	set := found[*dataset.Points](t, 4)(synth.Gaussians(400, 3, 4, 1.2, clusteringtest.NewRand(2)))
	few := solveAuto(t, set.data, clustering.Spec{
		K: 4, Supervision: clustering.Supervision{Seeds: seedsOf(set.truth, 199)},
	})
	many := solveAuto(t, set.data, clustering.Spec{
		K: 4, Supervision: clustering.Supervision{Seeds: seedsOf(set.truth, 200)},
	})
	others := 0
	for _, tried := range few.Auto.Choice.Tried {
		if tried.ConstraintUse != clustering.UseDiscriminant {
			others++
		}
	}
	if others == 0 {
		t.Errorf("199 seeds: only classifiers are compared: %+v", few.Auto.Choice.Tried)
	}
	if len(many.Auto.Choice.Tried) != 2 {
		t.Errorf("200 seeds: %d methods are compared", len(many.Auto.Choice.Tried))
	}
	for _, tried := range many.Auto.Choice.Tried {
		if tried.ConstraintUse != clustering.UseDiscriminant {
			t.Errorf("200 seeds: %+v is compared", tried.Method)
		}
	}
	if a, b := ari(t, many.Labels, set.truth), ari(t, few.Labels, set.truth); a < b-.02 {
		t.Errorf("ARI %.3f with 200 seeds, %.3f with 199", a, b)
	}
}

// Where fits take long, nothing more is tried after a classifier that has all held-out seeds right.
func TestAutoStopsWhenNothingCanBeBetter(t *testing.T) {
	set := found[*dataset.Points](t, 4)(synth.Gaussians(9000, 32, 4, 0.2, clusteringtest.NewRand(2)))
	result := solveAuto(t, set.data, clustering.Spec{
		K: 4, Restarts: 2, Supervision: clustering.Supervision{Seeds: seedsOf(set.truth, 250)},
	})
	if tried := result.Auto.Choice.Tried; len(tried) != 1 || tried[0].ConstraintUse != clustering.UseDiscriminant ||
		tried[0].Agreement() != 1 {
		t.Errorf("tried %+v", tried)
	}
	if got := ari(t, result.Labels, set.truth); got < .99 {
		t.Errorf("ARI %.3f", got)
	}
}

// The reason names what was given: here the seeds of clusters that are found without them.
func TestAutoNamesSeedsInItsReason(t *testing.T) {
	graph, truth := blockGraph(t, 120, 3, 20, 1, 2)
	reason := solveAuto(t, graph, clustering.Spec{
		K: 3, Supervision: clustering.Supervision{Seeds: seedsOf(truth, 30)},
	}).Auto.Choice.Reason.String()
	if !strings.Contains(reason, "held-out seeds") || strings.Contains(reason, "constraints") {
		t.Error(reason)
	}
}
