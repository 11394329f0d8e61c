package local_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// Four groups of vertices, 0 to 3. Most edges between groups join 0 with 2 and 1 with 3, so that the cheapest cut of
// the graph in two tells these pairs apart. The classes are the next cut, {0, 1} and {2, 3}: few constraints choose it
// among more eigenvectors.
func TestAutoTakesTheCutThatConstraintsChoose(t *testing.T) {
	const size, n = 60, 4 * 60
	rng := rand.New(rand.NewPCG(1, 2))
	chance := [4][4]float64{{.3, .02, .06, 0}, {.02, .3, 0, .06}, {.06, 0, .3, .02}, {0, .06, .02, .3}}
	var edges []dataset.Edge
	classes := make([]int32, n)
	for i := range int32(n) {
		classes[i] = i / (2 * size)
		for j := range i {
			if rng.Float64() < chance[i/size][j/size] {
				edges = append(edges, dataset.Edge{Source: j, Target: i, Weight: 1})
			}
		}
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{K: 2, MaxIterations: 100, Algorithm: &auto.Options{}}
	for range 60 {
		c := constraint.Constraint{I: rng.Int32N(n), J: rng.Int32N(n), Kind: constraint.CannotLink}
		if c.I == c.J {
			continue
		}
		if classes[c.I] == classes[c.J] {
			c.Kind = constraint.MustLink
		}
		spec.Supervision.Constraints = append(spec.Supervision.Constraints, c)
	}
	score := func(spec clustering.Spec) (float64, *clustering.Choice) {
		result, err := local.Solve(context.Background(), graph, spec, 2, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := evaluate.Compare(result.Labels, classes, nil)
		if err != nil {
			t.Fatal(err)
		}
		return scores.ARI, result.Auto.Choice
	}
	found, choice := score(spec)
	if found < 0.95 || choice.Chosen.ConstraintUse != clustering.UseCuts {
		t.Errorf("with constraints the score is %.3f, by %+v", found, choice)
	}
	spec.Supervision.Constraints = nil
	if alone, _ := score(spec); alone > 0.1 {
		t.Errorf("without constraints the score is %.3f: the classes are no test", alone)
	}
}
