package kernelkmeans

import (
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The plain objective is that of the same labels without any constraint, by the naive reference; where there is no
// constraint it is the objective, bit for bit; kernel k-means has none.
func TestPlainObjectiveIsThatOfTheGraphAlone(t *testing.T) {
	differ := 0
	for seed := range uint64(4) {
		for name, c := range cases(t, seed) {
			o := optionsOf(c.spec)
			if seed%2 == 1 { // clusters that stay empty, and a pair that is linked both ways
				o.KeepEmpty, c.spec.MaxIterations = true, 0
				for i := range c.spec.Initialization.Labels {
					c.spec.Initialization.Labels[i] = int32(i % 2)
				}
				if len(c.spec.Supervision.Constraints) > 0 {
					c.spec.Supervision.Constraints = append(c.spec.Supervision.Constraints,
						clusteringtest.MustLink(0, 2), clusteringtest.CannotLink(0, 2), clusteringtest.CannotLink(2, 4))
				}
			}
			result := solve(t, c.data, c.spec)
			isGraph := c.data.Kind() == dataset.KindGraph && o.Objective == ObjectiveDefault ||
				o.Objective > ObjectiveKernelKmeans
			if isGraph != (result.Kernel.PlainObjective != nil) {
				t.Fatalf("%s: a plain objective %v", name, result.Kernel.PlainObjective)
			}
			if !isGraph {
				continue
			}
			r := newReference(c.data, withoutConstraints(c.spec), o.Rho)
			r.labels = slices.Clone(result.Labels)
			if got, want := *result.Kernel.PlainObjective, r.objective(); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, seed %d: %.12g, the reference has %.12g", name, seed, got, want)
			}
			same := math.Float64bits(*result.Kernel.PlainObjective) == math.Float64bits(result.Objective)
			if len(c.spec.Supervision.Constraints) == 0 && !same {
				t.Errorf("%s, seed %d: %v without constraints, the objective is %v", name, seed,
					*result.Kernel.PlainObjective, result.Objective)
			}
			if !same {
				differ++
			}
		}
	}
	if differ < 20 {
		t.Errorf("constraints make a difference in %d cases only", differ)
	}
}

// The objective of labels does not depend on how many lanes the executor has, nor on what they held before.
func TestObjectiveOfLabelsInAnyNumberOfLanes(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(3), 200, 3, 2)
	labels := make([]int32, 200)
	for i := range labels {
		labels[i] = int32(i / 100)
	}
	other := slices.Clone(labels)
	slices.Reverse(other)
	other[7] = 0
	var want float64
	for _, lanes := range []int{1, 4} {
		problem, err := Prepare(data, clustering.Spec{K: 2, Restarts: 4, MaxIterations: 10, Algorithm: &Options{},
			Initialization: clustering.Initialization{Start: clustering.StartRandom}})
		if err != nil {
			t.Fatal(err)
		}
		problem.MaxLanes = lanes
		x, err := NewLocal(t.Context(), problem, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		setup, err := NewSetup(t.Context(), problem, x, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		if runs := setup.Runs(); runs.Lanes != lanes {
			t.Fatalf("%d lanes, want %d", runs.Lanes, lanes)
		}
		for _, l := range [][]int32{labels, other, labels} {
			objective, _, err := setup.ObjectiveOf(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if lanes == 1 && want == 0 {
				want = objective
			}
			if same := slices.Equal(l, labels); same != (objective == want) {
				t.Errorf("%d lanes: the objective is %v, of the first labels %v; same labels: %v", lanes, objective,
					want, same)
			}
		}
	}
}
