package local_test

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// Twelve clusters overlap so much that no method agrees well with held-out constraints. Correct constraints hold. If
// one in ten is wrong, must-links join clusters that are far apart, and the data may overrule them.
func TestAutoFindsWrongConstraintsBetweenManyClusters(t *testing.T) {
	const k, m = 12, 300
	set := found[*dataset.Points](t, k)(synth.Gaussians(testscale.Count(1500, 3000), 3, k, 2.6,
		clusteringtest.NewRand(4)))
	correct := solveAuto(t, set.data, clustering.Spec{
		K: k, Restarts: 2,
		Supervision: clustering.Supervision{Constraints: pairsOf(t, set.truth, m, 0, clusteringtest.NewRand(7))},
	})
	if held := correct.Satisfaction; held.Satisfied() != m || warning(correct, "DATA_OVERRULE") != "" {
		t.Errorf("%d of %d correct constraints hold: %q", held.Satisfied(), m, warning(correct, "DATA_OVERRULE"))
	}
	doubtful := solveAuto(t, set.data, clustering.Spec{
		K: k, Restarts: 2,
		Supervision: clustering.Supervision{Constraints: pairsOf(t, set.truth, m, 10, clusteringtest.NewRand(7))},
	})
	if why := warning(doubtful, "DATA_OVERRULE"); !strings.Contains(why, "seem wrong") {
		t.Errorf("constraints of which one in ten is wrong hold: %d of %d, %v", doubtful.Satisfaction.Satisfied(), m,
			doubtful.Warnings)
	}
}
