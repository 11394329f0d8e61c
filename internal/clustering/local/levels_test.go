package local_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

func blockGraph(t *testing.T, n, k int, inside, outside float64, seed uint64) (*dataset.Graph, []int32) {
	t.Helper()
	edges, truth, err := synth.Blocks(n, k, inside, outside, clusteringtest.NewRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	return graphOf(t, n, edges, 0), truth
}

func solved(t *testing.T, g *dataset.Graph, spec clustering.Spec, o clustering.Observer) *clustering.Result {
	t.Helper()
	result, err := local.Solve(t.Context(), g, spec, 2, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func nmi(t *testing.T, labels, truth []int32) float64 {
	t.Helper()
	scores, err := evaluate.Compare(labels, truth, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scores.NMI
}

// kernelDefault is kernel k-means as a request without options has it.
func kernelDefault(k int, o kernelkmeans.Objective) clustering.Spec {
	return clustering.Spec{K: k, MaxIterations: 100, Choose: true,
		Algorithm: &kernelkmeans.Options{Objective: o, KeepBest: true, OnRise: kernelkmeans.RiseIgnore, RiseOpen: true}}
}

func TestTheDefaultFindsBlocksInEveryObjective(t *testing.T) {
	g, truth := blockGraph(t, 1200, 6, 12, 4, 1)
	for o := kernelkmeans.ObjectiveRatioAssociation; o <= kernelkmeans.ObjectiveNormalizedCut; o++ {
		heard := &clusteringtest.Recorder{}
		result := solved(t, g, kernelDefault(6, o), heard)
		if score := nmi(t, result.Labels, truth); score < 0.95 {
			t.Errorf("%v: NMI %.3f", o, score)
		}
		if len(heard.Levels) < 3 || heard.Levels[len(heard.Levels)-1].Vertices != 1200 {
			t.Errorf("%v: levels %v", o, heard.Levels)
		}
	}
	if score := nmi(t, solved(t, g, clustering.Spec{K: 6, MaxIterations: 100, Choose: true, Algorithm: &auto.Options{}},
		clustering.NopObserver{}).Labels, truth); score < 0.95 {
		t.Errorf("auto: NMI %.3f", score)
	}
}

// The start is one for the penalized objective: no flat run that begins elsewhere is better.
func TestConstraintsAreInTheObjectiveOfTheStart(t *testing.T) {
	g, truth := blockGraph(t, 400, 4, 7, 5, 3)
	constraints, err := synth.Constraints(truth, 150, clusteringtest.NewRand(2))
	if err != nil {
		t.Fatal(err)
	}
	spec := kernelDefault(4, kernelkmeans.ObjectiveNormalizedCut)
	spec.Supervision.Constraints = constraints
	levels := solved(t, g, spec, clustering.NopObserver{})
	spec.Initialization.Start, spec.Restarts = clustering.StartKmeansPlusPlus, 10
	flat := solved(t, g, spec, clustering.NopObserver{})
	if levels.Objective > flat.Objective+1e-9 {
		t.Errorf("the objective is %v, from k-means++ %v", levels.Objective, flat.Objective)
	}
	if levels.Satisfaction.Satisfied() < flat.Satisfaction.Satisfied()-15 {
		t.Errorf("%d constraints are satisfied, from k-means++ %d", levels.Satisfaction.Satisfied(),
			flat.Satisfaction.Satisfied())
	}
}

func TestMoreConstraintsAreNotWorse(t *testing.T) {
	g, truth := blockGraph(t, 300, 4, 6, 3.5, 5)
	before := 0.0
	for _, m := range testscale.Some([]int{0, 20, 120}, 2) {
		constraints, err := synth.Constraints(truth, m, clusteringtest.NewRand(2))
		if err != nil {
			t.Fatal(err)
		}
		result := solved(t, g, clustering.Spec{
			K: 4, MaxIterations: 100, Choose: true, Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm: &auto.Options{},
		}, clustering.NopObserver{})
		score := nmi(t, result.Labels, truth)
		if score < before-0.02 {
			t.Errorf("%d constraints: NMI %.3f, with fewer %.3f (%v)", m, score, before, result.Auto.Choice.Chosen)
		}
		before = max(before, score)
	}
}

func TestSpacesOfGraphs(t *testing.T) {
	g, truth := blockGraph(t, 100, 2, 8, 2, 1)
	constraints, err := synth.Constraints(truth, 60, clusteringtest.NewRand(2))
	if err != nil {
		t.Fatal(err)
	}
	negative := graphOf(t, 3, []dataset.Edge{{Source: 0, Target: 1, Weight: 2}, {Source: 1, Target: 2, Weight: -1},
		{Source: 0, Target: 2, Weight: 1}}, 0)
	large := &dataset.Graph{N: 1 << 20, RowStart: make([]int64, 1<<20+1)}
	for name, c := range map[string]struct {
		data        *dataset.Graph
		k           int
		constraints []constraint.Constraint
		want        []clustering.Space
		notice      string
	}{
		"no constraints": {g, 2, nil, []clustering.Space{clustering.SpaceLevels}, ""},
		"constraints": {g, 2, constraints, []clustering.Space{clustering.SpaceLevels, clustering.SpaceGraph},
			""},
		"weights below 0": {negative, 2, nil, []clustering.Space{clustering.SpaceGraph}, ""},
		"a graph of a million": {large, 20, constraints, []clustering.Space{clustering.SpaceLevels},
			"EIGENVECTORS_LEFT_OUT"},
	} {
		p, err := auto.Prepare(c.data, clustering.Spec{
			K: c.k, MaxIterations: 100, Choose: true, Supervision: clustering.Supervision{Constraints: c.constraints},
			Algorithm: &auto.Options{},
		})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, w := range p.Warnings {
			codes = append(codes, w.Code)
		}
		if !slices.Equal(p.Spaces(), c.want) || strings.Join(codes, " ") != c.notice {
			t.Errorf("%s: spaces %v, notices %v", name, p.Spaces(), codes)
		}
	}
}
