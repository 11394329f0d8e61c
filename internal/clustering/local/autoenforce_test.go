package local_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/clusteringtest"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
)

// If no use of the constraints predicts held-out ones better than ignoring them, wrong constraints do not change labels,
// unless the user insists. Correct constraints on the same data hold.
func TestAutoKeepsLabelsThatIgnoreWrongConstraints(t *testing.T) {
	set := found[*dataset.Points](t, 6)(synth.Gaussians(300, 3, 6, 1.3, clusteringtest.NewRand(39)))
	spec := clustering.Spec{K: set.k, MaxIterations: clustering.DefaultMaxIterations}
	alone := solveAuto(t, set.data, spec)

	spec.Constraints = pairsOf(t, set.truth, 100, 10, clusteringtest.NewRand(139))
	doubtful := solveAuto(t, set.data, spec)
	if !slices.Equal(doubtful.Labels, alone.Labels) {
		t.Errorf("wrong constraints change the labels: %+v", doubtful.Choice)
	}
	overruled := slices.ContainsFunc(doubtful.Warnings, func(n clustering.Notice) bool {
		return n.Code == "DATA_OVERRULE" && strings.Contains(n.Message, "does not help to predict held-out ones")
	})
	if !overruled {
		t.Errorf("the notices do not say that the data overrule constraints: %+v", doubtful.Warnings)
	}

	spec.Algorithm = &auto.Options{Enforce: auto.EnforceAlways}
	always, err := local.Solve(t.Context(), set.data, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	if always.Satisfaction.Satisfied() != always.Satisfaction.Total {
		t.Errorf("only some of %+v hold although they are enforced", always.Satisfaction)
	}

	spec.Constraints = pairsOf(t, set.truth, 100, 0, clusteringtest.NewRand(139))
	if right := solveAuto(t, set.data, spec); right.Satisfaction.Satisfied() != right.Satisfaction.Total {
		t.Errorf("of correct constraints, %+v hold", right.Satisfaction)
	}
}
