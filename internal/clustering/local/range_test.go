package local

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// proposal runs k-means with 2 to 4 clusters.
func proposal(t *testing.T, points *dataset.Points) *clustering.KSelection {
	t.Helper()
	spec := clustering.Spec{K: 2, MaxK: 4, Seed: 1, MaxIterations: 50, Restarts: 5,
		Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}}
	result, err := Solve(t.Context(), points, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result.KSelection
}

// A normal cloud is cut across its length again and again, which is no sign of two clusters; two groups are more
// stable than that.
func TestACloudHasNoClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cloud := &dataset.Points{N: 300, D: 4, Values: make([]float64, 1200)}
	groups := &dataset.Points{N: 300, D: 4, Values: make([]float64, 1200)}
	for i := range cloud.N {
		for f := range cloud.D {
			cloud.Row(i)[f], groups.Row(i)[f] = rng.NormFloat64(), rng.NormFloat64()
		}
		cloud.Row(i)[0] *= 3
		groups.Row(i)[0] += 8 * float64(i%2)
	}
	if h := proposal(t, cloud); h.Confidence != clustering.Unsure {
		t.Errorf("of a cloud: %d, %v: %s", h.Proposed, h.Confidence, h.Reason)
	} else if h.Proposed == 2 && len(h.Plausible) == 1 && !strings.Contains(h.Reason, "a cloud of the same shape") {
		t.Errorf("of a cloud: %s", h.Reason)
	}
	if h := proposal(t, groups); h.Proposed != 2 || h.Confidence == clustering.Unsure {
		t.Errorf("of two groups: %d, %v, %v: %s", h.Proposed, h.Confidence, h.Plausible, h.Reason)
	}
}
