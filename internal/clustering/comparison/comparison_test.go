package comparison

import (
	"context"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

func circles(t testing.TB, n int) (*dataset.Points, []int32) {
	t.Helper()
	data, truth, err := synth.TwoCircles(n, 0.02, clusteringtest.NewRand(1))
	if err != nil {
		t.Fatal(err)
	}
	return data, truth
}

// job is a job of a named algorithm with true constraints.
func job(t testing.TB, truth []int32, k, pairs int, a clustering.Algorithm) clustering.Spec {
	t.Helper()
	constraints, err := synth.Constraints(truth, pairs, clusteringtest.NewRand(2))
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{K: k, Supervision: clustering.Supervision{Constraints: constraints}, Algorithm: a}
	if _, cuts := a.(*spectral.Options); !cuts {
		spec.Choose = true
		spec.Supervision.EntailSmall = true
		spec.MaxIterations = clustering.DefaultMaxIterations
	}
	return spec
}

// said is what a comparison says.
func said(t testing.TB, data dataset.Dataset, spec clustering.Spec, threads int) string {
	t.Helper()
	c := New(data, spec)
	if c == nil {
		t.Fatal("nothing is compared")
	}
	notice, err := c.Run(t.Context(), threads)
	if err != nil {
		t.Fatal(err)
	}
	if notice == nil {
		return ""
	}
	return notice.Code + ": " + notice.Message
}

// Circles are no clusters of k-means nor of a wide kernel, but neighbors tell them apart.
func TestTheDefaultIsBetter(t *testing.T) {
	data, truth := circles(t, 300)
	for _, a := range testscale.Some([]clustering.Algorithm{
		&kmeans.Options{Algorithm: kmeans.PCKmeans}, &kmeans.Options{Algorithm: kmeans.MPCKmeans},
		&kernelkmeans.Options{}, &spectral.Options{Algorithm: spectral.Spectral},
	}, 2) {
		spec := job(t, truth, 2, 60, a)
		got := said(t, data, spec, 1)
		if !strings.HasPrefix(got,
			"DEFAULT_IS_BETTER: of 60 held-out pairs, the default got 60 right and "+a.Name()+" ") {
			t.Errorf("%s: %q", a.Name(), got)
		}
		if again := said(t, data, spec, 3); again != got {
			t.Errorf("%s: on three threads %q, on one %q", a.Name(), again, got)
		}
	}
}

func TestTheDefaultIsBetterBySeeds(t *testing.T) {
	data, truth := circles(t, 300)
	spec := clustering.Spec{K: 2, MaxIterations: 100, Choose: true,
		Algorithm: &kmeans.Options{Algorithm: kmeans.SeededKmeans}}
	for i := range int32(40) {
		spec.Supervision.Seeds = append(spec.Supervision.Seeds, constraint.Seed{Index: 7 * i, Label: truth[7*i]})
	}
	if got := said(t, data, spec, 2); !strings.HasPrefix(got, "DEFAULT_IS_BETTER") {
		t.Errorf("%q", got)
	}
}

// Where the algorithm is as good as any, nothing is said.
func TestTheNamedAlgorithmIsGood(t *testing.T) {
	blobs, truth, err := synth.Gaussians(200, 3, 4, 0.5, clusteringtest.NewRand(3))
	if err != nil {
		t.Fatal(err)
	}
	around, classes := circles(t, 200)
	for name, c := range map[string]struct {
		data dataset.Dataset
		spec clustering.Spec
	}{
		"gaussians":        {blobs, job(t, truth, 4, 60, &kmeans.Options{Algorithm: kmeans.PCKmeans})},
		"circles, by cuts": {around, job(t, classes, 2, 60, &spectral.Options{Algorithm: spectral.Constrained})},
		"noise": {around, job(t, clusteringtest.RandomLabels(clusteringtest.NewRand(4), 200, 2), 2, 80,
			&kmeans.Options{Algorithm: kmeans.PCKmeans})},
	} {
		if got := said(t, c.data, c.spec, 2); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Nothing is compared where it would take long, where pairs tell too little, or where the default cannot be asked.
func TestNothingToCompare(t *testing.T) {
	data, truth := circles(t, 300)
	large, classes := circles(t, 4000)
	pc := &kmeans.Options{Algorithm: kmeans.PCKmeans}
	oneKind := job(t, truth, 2, 100, pc)
	for at := range oneKind.Supervision.Constraints {
		i := oneKind.Supervision.Constraints[at].I
		oneKind.Supervision.Constraints[at] = clusteringtest.MustLink(i, (i+2)%300)
	}
	twice := job(t, truth, 2, 30, pc)
	twice.Supervision.Constraints = append(twice.Supervision.Constraints, twice.Supervision.Constraints...)
	for name, c := range map[string]struct {
		data dataset.Dataset
		spec clustering.Spec
	}{
		"few pairs":        {data, job(t, truth, 2, 49, pc)},
		"few pairs, twice": {data, twice},
		"one kind":         {data, oneKind},
		"no supervision":   {data, job(t, truth, 2, 0, pc)},
		"many pairs":       {data, job(t, truth, 2, 1001, pc)},
		"many points":      {large, job(t, classes, 2, 100, pc)},
		"many clusters":    {data, job(t, truth, 50, 100, pc)},
		"the default":      {data, job(t, truth, 2, 100, &auto.Options{})},
		"beliefs": {data, job(t, truth, 2, 100, &spectral.Options{Algorithm: spectral.Constrained,
			Beliefs: []constraint.Belief{{I: 0, J: 1, Value: 1}}})},
		"constrained-spectral": {large, job(t, classes, 2, 100, &spectral.Options{Algorithm: spectral.Constrained})},
	} {
		if New(c.data, c.spec) != nil {
			t.Errorf("%s: compared", name)
		}
	}
}

func TestComparisonIsCanceled(t *testing.T) {
	data, truth := circles(t, 300)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	notice, err := New(data, job(t, truth, 2, 60, &kernelkmeans.Options{})).Run(ctx, 2)
	if err == nil || notice != nil {
		t.Errorf("%v, %v", notice, err)
	}
}

// A fold leaves out what it holds out, and nothing else, also of pairs that are given twice or reversed.
func TestSpecOfAFold(t *testing.T) {
	data, truth := circles(t, 100)
	spec := job(t, truth, 2, 60, &kernelkmeans.Options{})
	for at, c := range spec.Supervision.Constraints[:20] {
		spec.Supervision.Constraints[at].Weight, spec.Supervision.Constraints[at].Weighted = 3, true
		spec.Supervision.Constraints = append(spec.Supervision.Constraints, constraint.Constraint{
			I: c.J, J: c.I, Kind: c.Kind,
		})
	}
	spec.Supervision.Seeds = []constraint.Seed{
		{Index: 1, Label: 1, Probability: 0.8}, {Index: 2}, {Index: 3, Label: 1},
		{Index: 1, Label: 0, Probability: 0.2},
	}
	c := New(data, spec)
	constraints, seeds := 0, 0
	for fold := range auto.DefaultFolds {
		shown := c.supervision.Spec(spec, fold)
		for _, pair := range c.supervision.Pairs {
			for _, given := range shown.Supervision.Constraints {
				if pair.Fold == fold && min(given.I, given.J) == pair.I && max(given.I, given.J) == pair.J {
					t.Errorf("fold %d: %+v is shown", fold, given)
				}
			}
		}
		constraints += len(shown.Supervision.Constraints)
		seeds += len(shown.Supervision.Seeds)
	}
	if constraints != 2*len(spec.Supervision.Constraints) || seeds != 2*len(spec.Supervision.Seeds) {
		t.Errorf("%d constraints and %d seeds are shown in two of three folds", constraints, seeds)
	}
}
