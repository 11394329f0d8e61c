package auto

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// A graph whose degrees overflow used to have an answer with an objective of NaN.
func TestWeightsThatOverflowAreRefused(t *testing.T) {
	for _, test := range []struct {
		weight  float64
		refused bool
	}{{1e307, false}, {1e308, true}} {
		g, err := dataset.NewGraph(3, []dataset.Edge{{Source: 0, Target: 1, Weight: test.weight},
			{Source: 1, Target: 2, Weight: test.weight}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Prepare(g, clustering.Spec{K: 2, Algorithm: &Options{}})
		if !test.refused {
			if err != nil {
				t.Errorf("weight %g: %v", test.weight, err)
			}
			continue
		}
		var invalid *fault.Error
		if invalid, _ = refusal.Of(err).(*fault.Error); invalid == nil || invalid.Reason != "BAD_WEIGHT" ||
			!strings.Contains(invalid.Error(), "divide all of them") {
			t.Errorf("weight %g: %v", test.weight, err)
		}
	}
}

// The plan has as many searches for eigenvectors at the same time as there are folds, but no more than threads,
// whatever processors this machine has.
func TestPlannedSearchesAreLimitedByThreads(t *testing.T) {
	edges := make([]dataset.Edge, 199)
	for i := range edges {
		edges[i] = dataset.Edge{Source: int32(i), Target: int32(i) + 1, Weight: 1}
	}
	g, err := dataset.NewGraph(len(edges)+1, edges)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(g, clustering.Spec{K: 10, Algorithm: &Options{},
		Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
			{I: 0, J: 1, Kind: constraint.MustLink}, {I: 0, J: 199, Kind: constraint.CannotLink},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	for threads, want := range map[int]int{1: 1, 2: 2, 100: DefaultFolds} {
		if got := p.Search(threads).AtOnce; got != want {
			t.Errorf("%d searches on %d threads, not %d", got, threads, want)
		}
	}
}
