package kernelkmeans

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

func chosen(k int, constraints []constraint.Constraint) clustering.Spec {
	return clustering.Spec{
		K: k, MaxIterations: 100, Supervision: clustering.Supervision{
			Constraints: constraints, EntailSmall: true,
		}, Choose: true,
		Algorithm: &Options{OnRise: RiseIgnore, KeepBest: true},
	}
}

// Correct constraints do not spoil what is found without them, however many there are.
func TestCorrectConstraintsDoNoHarm(t *testing.T) {
	rng := clusteringtest.NewRand(1)
	points, truth, err := synth.Gaussians(500, 8, 10, 1, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{0, 1, 20, 100, 1000} {
		constraints, err := synth.Constraints(truth, count, rng)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := evaluate.Compare(solve(t, points, chosen(10, constraints)).Labels, truth, nil)
		if err != nil || scores.ARI != 1 {
			t.Errorf("with %d constraints the scores are %+v, %v", count, scores, err)
		}
	}
}

// By its own objective no answer is worse than the labels that are found without constraints, the answer is the best
// labeling that the run came by, and neither depends on how many restarts go side by side.
func TestChosenAnswers(t *testing.T) {
	rose := false
	n := testscale.Count(50, 100)
	// one of each kind of data, with few and many constraints
	for _, seed := range testscale.Some([]uint64{0, 1, 2, 4, 5, 3, 8, 6, 7}, 3) {
		rng := clusteringtest.NewRand(seed)
		var data dataset.Dataset = clusteringtest.Blobs(t, rng, n, 3, 4)
		if seed%3 == 1 {
			data = clusteringtest.RandomGraph(t, rng, n, 3)
		}
		spec := chosen(3, clusteringtest.RandomConstraints(rng, n, 3, 1+int(seed)*8))
		spec.Seed, spec.Restarts = seed, 5
		if seed%3 == 2 {
			optionsOf(spec).Objective = ObjectiveRatioAssociation
		}
		var want *clustering.Result
		for _, lanes := range []int{1, 3} {
			problem, err := Prepare(data, spec)
			if err != nil {
				t.Fatal(err)
			}
			problem.MaxLanes = lanes
			x, err := NewLocal(context.Background(), problem, data, 2)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Run(context.Background(), problem, x, clustering.NopObserver{})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d: %d lanes answer %v, one %v", seed, lanes, got.Objective, want.Objective)
			}
		}
		if want.BehindUnconstrained > 1e-9*math.Abs(want.Objective) {
			t.Errorf("seed %d: %v is behind by %v", seed, want.Objective, want.BehindUnconstrained)
		}
		for at, entry := range want.History {
			better := entry.Objective < want.Objective-1e-9*math.Abs(want.Objective)
			if seed%3 == 2 {
				better = entry.Objective > want.Objective+1e-9*math.Abs(want.Objective)
			}
			if better {
				t.Errorf("seed %d: iteration %d had %v, the answer has %v", seed, at, entry.Objective, want.Objective)
			}
		}
		rose = rose || want.History[len(want.History)-1].Objective != want.Objective
	}
	if !rose {
		t.Error("no run went past its best labeling: the cases are too easy")
	}
}

// The unit of weights is the least that merging two clusters costs, here by the objectives of all merged labelings.
func TestLeastMerge(t *testing.T) {
	for seed := range uint64(8) {
		rng := clusteringtest.NewRand(seed)
		var data dataset.Dataset = clusteringtest.Blobs(t, rng, 40, 2, 3)
		if seed%2 == 1 {
			data = clusteringtest.RandomGraph(t, rng, 40, 3)
		}
		const k = 5
		problem, err := Prepare(data, clustering.Spec{K: k, MaxIterations: 1, Algorithm: &Options{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		x, err := NewLocal(ctx, problem, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewSetup(ctx, problem, x, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		labels := clusteringtest.RandomLabels(rng, 40, k)
		got, err := f.leastMerge(ctx, labels)
		if err != nil {
			t.Fatal(err)
		}
		value := func(labels []int32) float64 {
			l, err := f.assignmentOf(ctx, labels)
			if err != nil {
				t.Fatal(err)
			}
			return f.matrix.value(l)
		}
		whole := value(labels)
		want := math.Inf(1)
		for c := range int32(k) {
			for d := range c {
				merged := make([]int32, len(labels))
				for i, l := range labels {
					if merged[i] = l; l == c {
						merged[i] = d
					}
				}
				want = min(want, value(merged)-whole)
			}
		}
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("seed %d: merging costs %v, want %v", seed, got, want)
		}
	}
}

// A must-link weighs as much as merging clusters costs, times its own weight and those of its points.
func TestTheUnitOfWeights(t *testing.T) {
	rng := clusteringtest.NewRand(2)
	graph := clusteringtest.RandomGraph(t, rng, 60, 3)
	constraints := []constraint.Constraint{{I: 0, J: 3, Kind: constraint.MustLink},
		{I: 1, J: 4, Kind: constraint.MustLink, Weight: 3, Weighted: true}}
	problem, err := Prepare(graph, chosen(3, constraints))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	x, err := NewLocal(ctx, problem, graph, 1)
	if err != nil {
		t.Fatal(err)
	}
	weighed, err := problem.withUnconstrained(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	degrees, err := x.Matrix().Degrees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	units := []float64{}
	for at, pair := range weighed.Constraints.Pairs() {
		units = append(units, pair.Weight/[]float64{1, 3}[at]/((degrees[pair.I]+degrees[pair.J])/2))
	}
	if !(units[0] > 0) || math.Abs(units[0]-units[1]) > 1e-12 {
		t.Errorf("the units are %v", units)
	}
}

// Restarts start in different ways unless the user names one; all points of a component then start together.
func TestStartsOfRestarts(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 60, 2, 2)
	link := []constraint.Constraint{{I: 0, J: 2, Kind: constraint.MustLink}}
	seeds := []constraint.Seed{{Index: 0, Label: 0}, {Index: 1, Label: 1}}
	const free, spectral, random, plus = clustering.StartLabels, clustering.StartSpectral, clustering.StartRandom,
		clustering.StartKmeansPlusPlus
	for name, c := range map[string]struct {
		change   func(*clustering.Spec)
		restarts int
		starts   []clustering.Start
	}{
		"constraints": {func(*clustering.Spec) {}, 10, []clustering.Start{free, spectral, random, plus, random}},
		"none": {
			func(s *clustering.Spec) { s.Supervision.Constraints = nil }, 10,
			[]clustering.Start{spectral, random, plus, random},
		},
		"named": {func(s *clustering.Spec) { s.Initialization.Start = plus }, 10, []clustering.Start{plus, plus}},
		"seeds": {func(s *clustering.Spec) { s.Supervision.Seeds = seeds }, 1,
			[]clustering.Start{clustering.StartSeeds}},
		"spectral": {func(s *clustering.Spec) { s.Initialization.Start = spectral }, 1, []clustering.Start{spectral}},
		"paper": {func(s *clustering.Spec) {
			s.Choose = false
		}, 1, []clustering.Start{clustering.StartFarthestFirst}},
	} {
		spec := chosen(2, link)
		c.change(&spec)
		problem, err := Prepare(points, spec)
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewLocal(context.Background(), problem, points, 1)
		if err != nil {
			t.Fatal(err)
		}
		if problem, err = problem.withUnconstrained(context.Background(), x); err != nil {
			t.Fatal(err)
		}
		if problem.Restarts() != c.restarts {
			t.Errorf("%s: %d restarts, want %d", name, problem.Restarts(), c.restarts)
		}
		if got := problem.plan.Starts[:len(c.starts)]; !slices.Equal(got, c.starts) {
			t.Errorf("%s: restarts start by %v, want %v", name, got, c.starts)
		}
	}
	spec := chosen(2, clusteringtest.RandomConstraints(clusteringtest.NewRand(5), 60, 2, 30))
	spec.MaxIterations, optionsOf(spec).Function = 0, kernel.Gaussian
	result := solve(t, points, spec)
	if result.Satisfaction.MustLinkViolated > 0 {
		t.Errorf("the start violates %d must-links", result.Satisfaction.MustLinkViolated)
	}
}

// On a graph all starts are multilevel, which tries many starts itself, so by default there is one, and one more from
// the unconstrained answer.
func TestStartsOnGraphs(t *testing.T) {
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(1), 60, 3)
	link := []constraint.Constraint{{I: 0, J: 2, Kind: constraint.MustLink}}
	const free, levels = clustering.StartLabels, clustering.StartMultilevel
	for _, c := range []struct {
		constraints []constraint.Constraint
		start       clustering.Start
		restarts    int
		runs        int
		starts      []clustering.Start
	}{
		{nil, clustering.StartDefault, 0, 1, []clustering.Start{levels}},
		{link, clustering.StartDefault, 0, 3, []clustering.Start{free, levels}},
		{link, clustering.StartDefault, 1, 2, []clustering.Start{free}},
		{link, clustering.StartDefault, 3, 6, []clustering.Start{free, levels, levels}},
		{link, levels, 0, 3, []clustering.Start{levels, levels}},
		{link, clustering.StartSpectral, 3, 2, []clustering.Start{clustering.StartSpectral}},
	} {
		spec := chosen(3, c.constraints)
		spec.Initialization.Start, spec.Restarts = c.start, c.restarts
		p, err := Prepare(graph, spec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.plan.Starts, c.starts) || p.Runs() != c.runs ||
			p.StartsSpectral() != (c.start == clustering.StartSpectral) {
			t.Errorf("%d restarts of %v: starts %v in %d runs, want %v in %d", c.restarts, c.start, p.plan.Starts,
				p.Runs(), c.starts, c.runs)
		}
	}
}

// zeros is an executor of a matrix of zeros.
type zeros struct {
	Executor
	matrix zeroMatrix
}

func (z zeros) Matrix() Matrix { return z.matrix }

// zeroMatrix is a matrix of zeros that only sums columns.
type zeroMatrix struct {
	Matrix
	rows int
}

func (z zeroMatrix) ColumnSums(_ context.Context, lists [][]int32) ([][]float64, error) {
	return slices.Repeat([][]float64{make([]float64, z.rows)}, len(lists)), nil
}

// The cost of a merger needs memory for the clusters, not for all pairs of them.
func TestLeastMergeOfManyClusters(t *testing.T) {
	s := &Setup{
		p:      &Problem{spec: clustering.Spec{K: 1 << 18}},
		server: &server{x: zeros{matrix: zeroMatrix{rows: 2}}},
		matrix: &weightedMatrix{weights: []float64{1, 1}},
	}
	if got, err := s.leastMerge(context.Background(), []int32{3, 1<<18 - 1}); got != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
