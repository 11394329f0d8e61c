package kmeans

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// tenGaussians are well separated clusters with correct constraints.
func tenGaussians(t *testing.T) (*dataset.Points, []int32, []constraint.Constraint) {
	t.Helper()
	rng := clusteringtest.NewRand(1)
	points, truth, err := synth.Gaussians(500, 8, 10, 1, rng)
	if err != nil {
		t.Fatal(err)
	}
	constraints, err := synth.Constraints(truth, 100, rng)
	if err != nil {
		t.Fatal(err)
	}
	return points, truth, constraints
}

func chosen(a Algorithm, k int, constraints []constraint.Constraint) clustering.Spec {
	return clustering.Spec{
		K: k, MaxIterations: 100, Supervision: clustering.Supervision{
			Constraints: constraints, EntailSmall: true,
		}, Choose: true, Algorithm: &Options{Algorithm: a},
	}
}

// Correct constraints do not spoil what is found without them.
func TestCorrectConstraintsDoNoHarm(t *testing.T) {
	points, truth, constraints := tenGaussians(t)
	for _, a := range []Algorithm{CopKmeans, PCKmeans, MKmeans, MPCKmeans, HMRFKmeans} {
		result := solve(t, points, chosen(a, 10, constraints))
		scores, err := evaluate.Compare(result.Labels, truth, nil)
		if err != nil || scores.ARI != 1 {
			t.Errorf("%v has the scores %+v, %v", a, scores, err)
		}
	}
}

// By its own objective no answer is worse than the labels that are found without constraints, where the start is open.
func TestNoAnswerIsWorseThanTheUnconstrainedOne(t *testing.T) {
	for seed := range uint64(10) {
		for _, c := range allCases(t, seed) {
			c.spec.Choose = true
			c.spec.Supervision.EntailSmall = true
			c.spec.Initialization.Start = clustering.StartDefault
			c.spec.Initialization.Labels = nil
			c.spec.Restarts = 3
			if !c.spec.Algorithm.(*Options).Algorithm.constrained() || len(c.spec.Supervision.Constraints) == 0 {
				continue
			}
			result := solve(t, c.data, c.spec)
			if result.BehindUnconstrained > 1e-9*math.Abs(result.Objective) {
				t.Errorf("seed %d, %s: behind by %v with %v", seed, c.name, result.BehindUnconstrained,
					result.Objective)
			}
		}
	}
}

// The weights of PC-KMeans are multiples of the mean distortion of the unconstrained answer.
func TestTheUnitIsTheMeanDistortion(t *testing.T) {
	rng := clusteringtest.NewRand(3)
	points := clusteringtest.Blobs(t, rng, 60, 2, 3)
	constraints := clusteringtest.RandomConstraints(rng, 60, 3, 20)
	constraints[0].Weight, constraints[0].Weighted = 2.5, true
	spec := chosen(PCKmeans, 3, constraints)
	spec.Supervision.EntailSmall = false
	problem, x := prepared(t, points, spec)
	weighed, err := problem.begin(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	free := solve(t, points, clustering.Spec{K: 3, MaxIterations: 100, Restarts: 10,
		Algorithm: &Options{Algorithm: Kmeans}})
	for at, pair := range weighed.Constraints.Pairs() {
		if want := free.Objective / 60 * problem.Constraints.Pairs()[at].Weight; pair.Weight != want ||
			weighed.links[at].Weight != want {
			t.Errorf("the weight of %d-%d is %v, want %v", pair.I, pair.J, pair.Weight, want)
		}
	}
	if !slices.ContainsFunc(problem.Constraints.Pairs(), func(p constraint.Pair) bool { return p.Weight == 2.5 }) {
		t.Error("no pair has a weight of its own")
	}
	if !slices.Equal(weighed.unconstrained.Labels, free.Labels) {
		t.Error("the unconstrained answer is not that of k-means")
	}
	spec.Algorithm = &Options{Algorithm: HMRFKmeans} // whose penalties have a unit of their own
	problem, x = prepared(t, points, spec)
	if weighed, err = problem.begin(context.Background(), x); err != nil ||
		weighed.Constraints != problem.Constraints || weighed.unconstrained == nil {
		t.Errorf("hmrf-kmeans weighs %v, %v", weighed.Constraints.Pairs()[0], err)
	}
}

// Restarts start in different ways unless the user names one, and there is one where nothing is left to chance.
func TestStartsOfRestarts(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 30, 2, 2)
	pair := []constraint.Constraint{{I: 0, J: 2, Kind: constraint.MustLink}}
	labels := make([]int32, 30)
	labels[1] = 1
	seeds := []constraint.Seed{{Index: 0, Label: 0}, {Index: 1, Label: 1}}
	const free, plus = clustering.StartLabels, clustering.StartKmeansPlusPlus
	for name, c := range map[string]struct {
		change   func(*clustering.Spec)
		restarts int
		starts   []clustering.Start
	}{
		"pc": {func(*clustering.Spec) {}, 10, []clustering.Start{free, clustering.StartNeighborhoods,
			plus, plus}},
		"pc alone": {func(s *clustering.Spec) { s.Supervision.Constraints = nil }, 10, []clustering.Start{plus, plus}},
		"named": {
			func(s *clustering.Spec) { s.Initialization.Start = clustering.StartRandom }, 10,
			[]clustering.Start{clustering.StartRandom, clustering.StartRandom},
		},
		"labels": {func(s *clustering.Spec) {
			s.Initialization.Start, s.Initialization.Labels = clustering.StartLabels, labels
		}, 1, []clustering.Start{clustering.StartLabels}},
		"paper": {func(s *clustering.Spec) { s.Choose = false }, 1, []clustering.Start{clustering.StartNeighborhoods}},
		"m": {
			func(s *clustering.Spec) { s.Algorithm = &Options{Algorithm: MKmeans} }, 10,
			[]clustering.Start{clustering.StartNeighborhoods, plus},
		},
		"cop": {
			func(s *clustering.Spec) { s.Algorithm = &Options{Algorithm: CopKmeans} }, 10,
			[]clustering.Start{clustering.StartRandom, plus},
		},
		"kmeans": {
			func(s *clustering.Spec) {
				s.Supervision.Constraints = nil
				s.Algorithm = &Options{Algorithm: Kmeans}
			}, 10,
			[]clustering.Start{plus, plus},
		},
		"seeded": {func(s *clustering.Spec) {
			s.Supervision.Constraints = nil
			s.Supervision.Seeds = seeds
			s.Algorithm = &Options{Algorithm: SeededKmeans}
		}, 1, []clustering.Start{clustering.StartSeeds}},
		"part seed": {func(s *clustering.Spec) {
			s.Supervision.Constraints = nil
			s.Supervision.Seeds = seeds[:1]
			s.Algorithm = &Options{Algorithm: SeededKmeans}
		}, 10, []clustering.Start{clustering.StartSeeds}},
	} {
		spec := chosen(PCKmeans, 2, pair)
		c.change(&spec)
		problem, x := prepared(t, points, spec)
		problem, err := problem.begin(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if problem.Restarts() != c.restarts {
			t.Errorf("%s: %d restarts, want %d", name, problem.Restarts(), c.restarts)
		}
		if got := problem.plan.Starts[:len(c.starts)]; !slices.Equal(got, c.starts) {
			t.Errorf("%s: restarts start by %v, want %v", name, got, c.starts)
		}
	}
}

func prepared(t *testing.T, data dataset.Dataset, spec clustering.Spec) (*Problem, Executor) {
	t.Helper()
	problem, err := Prepare(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(context.Background(), problem, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	return problem, x
}
