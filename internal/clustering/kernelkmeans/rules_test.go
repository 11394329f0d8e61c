package kernelkmeans

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// swappingGraph is two heavy edges joined by a light one: batch steps swap the ends of the heavy ones forever.
func swappingGraph(t *testing.T) *dataset.Graph {
	t.Helper()
	g, err := dataset.NewGraph(4, []dataset.Edge{{Source: 0, Target: 1, Weight: 1}, {Source: 2, Target: 3, Weight: 1},
		{Source: 1, Target: 2, Weight: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The rise policies on a graph whose unshifted batch step exchanges the ends of every edge.
func TestRisePolicies(t *testing.T) {
	spec := func(policy RisePolicy) clustering.Spec {
		return clustering.Spec{K: 2, MaxIterations: 20, Initialization: clustering.Initialization{
			Start: clustering.StartLabels, Labels: []int32{0, 1, 1, 0},
		},
			Algorithm: &Options{Objective: ObjectiveRatioAssociation, OnRise: policy}}
	}
	stopped := solve(t, swappingGraph(t), spec(RiseStop))
	if stopped.StopReason != clustering.StopRise && stopped.StopReason != clustering.StopCycle {
		t.Errorf("stop: stopped by %v", stopped.StopReason)
	}
	if ignored := solve(t, swappingGraph(t), spec(RiseIgnore)); ignored.StopReason != clustering.StopCycle {
		t.Errorf("ignore: stopped by %v", ignored.StopReason)
	}
	shifted := solve(t, swappingGraph(t), spec(RiseShift))
	if len(shifted.Kernel.Shifts) != 1 || shifted.Kernel.Sigma <= 0 ||
		shifted.Kernel.Sigma != shifted.Kernel.Shifts[0].Sigma {
		t.Fatalf("shift: %d shifts, sigma %g", len(shifted.Kernel.Shifts), shifted.Kernel.Sigma)
	}
	if shifted.StopReason != clustering.StopConverged {
		t.Errorf("shift: stopped by %v", shifted.StopReason)
	}
	for at, e := range shifted.History {
		if e.Iteration != at {
			t.Errorf("history entry %d is iteration %d: an undone step left a trace", at, e.Iteration)
		}
	}
}

func TestEmptyClusters(t *testing.T) {
	points, err := dataset.NewPoints(5, 1, []float64{0, 1, 2, 10, 50})
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{K: 3, MaxIterations: 0, Initialization: clustering.Initialization{
		Start: clustering.StartLabels, Labels: []int32{1, 1, 1, 1, 1},
	},
		Algorithm: &Options{Function: kernel.Linear}}
	// The mean is 12.6: point 4 is farthest and becomes cluster 0; then 3, at 6.75 from 3.25.
	if got := solve(t, points, spec).Labels; !slices.Equal(got, []int32{1, 1, 1, 2, 0}) {
		t.Errorf("farthest gives %v", got)
	}
	optionsOf(spec).KeepEmpty = true
	result := solve(t, points, spec)
	if got := result.Labels; !slices.Equal(got, []int32{1, 1, 1, 1, 1}) {
		t.Errorf("keep gives %v", got)
	}
	if !slices.Equal(result.ClusterSizes, []int{0, 5, 0}) {
		t.Errorf("cluster sizes %v", result.ClusterSizes)
	}
}

func TestMoreClustersThanDistinctPoints(t *testing.T) {
	points, err := dataset.NewPoints(6, 1, []float64{1, 1, 1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []clustering.Start{clustering.StartRandom, clustering.StartKmeansPlusPlus,
		clustering.StartFarthestFirst} {
		result := solve(t, points, clustering.Spec{
			K: 4, MaxIterations: 20, Initialization: clustering.Initialization{Start: start},
			Algorithm: &Options{Function: kernel.Linear},
		})
		if slices.Contains(result.ClusterSizes, 0) {
			t.Errorf("start %d: sizes %v", start, result.ClusterSizes)
		}
	}
	if result := solve(t, points, clustering.Spec{K: 6, MaxIterations: 20, Algorithm: &Options{Rho: 1}}); slices.Max(
		result.ClusterSizes) != 1 {
		t.Errorf("k = n: sizes %v", result.ClusterSizes)
	}
}

// Kulis2009 Algorithm 3 worked by hand: components {0,1,2} (largest), {5,6} and {8,9}; both others
// are candidates for k = 2, and {8,9} is farther, but {5,6} is cannot-linked to the first.
func TestFarthestFirst(t *testing.T) {
	values := []float64{0, 1, 2, 3, 4, 10, 11, 12, 100, 101}
	points, err := dataset.NewPoints(len(values), 1, values)
	if err != nil {
		t.Fatal(err)
	}
	must := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink, Weight: 1e-6, Weighted: true}
	}
	cs := []constraint.Constraint{must(0, 1), must(1, 2), must(5, 6), must(8, 9)}
	spec := clustering.Spec{
		K: 2, MaxIterations: 0, Supervision: clustering.Supervision{Constraints: cs},
		Algorithm: &Options{Function: kernel.Linear},
	}
	if got := solve(t, points, spec).Labels; !slices.Equal(got, []int32{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}) {
		t.Errorf("farthest is {8,9}, labels %v", got)
	}
	spec.Supervision.Constraints = append(cs, constraint.Constraint{
		I: 2, J: 5, Kind: constraint.CannotLink, Weight: 1e-6, Weighted: true,
	})
	if got := solve(t, points, spec).Labels; !slices.Equal(got, []int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}) {
		t.Errorf("preferred is {5,6}, labels %v", got)
	}
	// Total distance favors large components, the mean does not: {5,6,7} against the single 8.
	spec.Supervision.Constraints = []constraint.Constraint{must(0, 1), must(1, 2), must(2, 3), must(5, 6), must(6, 7)}
	spec.K, spec.Initialization.FarthestMean = 3, true
	spec.Initialization.Start = clustering.StartFarthestFirst
	mean := solve(t, points, spec).Labels
	if mean[8] != 2 && mean[8] != 1 {
		t.Errorf("mean: labels %v", mean)
	}
}

func TestSeedsStart(t *testing.T) {
	points, err := dataset.NewPoints(6, 1, []float64{0, 1, 2, 10, 11, 12})
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{
		K: 2, MaxIterations: 0,
		Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 4, Label: 0}, {Index: 1, Label: 1}}},
		Algorithm:   &Options{Function: kernel.Linear},
	}
	if got := solve(t, points, spec).Labels; !slices.Equal(got, []int32{1, 1, 1, 0, 0, 0}) {
		t.Errorf("labels %v", got)
	}
}

func TestRestartsKeepTheBestAndTheFirstIsASingleRun(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(4), 120, 2, 6)
	spec := clustering.Spec{
		K: 6, Seed: 3, MaxIterations: 100, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Algorithm: &Options{Function: kernel.Linear},
	}
	single := solve(t, points, spec)
	spec.Restarts = 8
	problem, err := Prepare(points, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(context.Background(), problem, points, 2)
	if err != nil {
		t.Fatal(err)
	}
	heard := &clusteringtest.Recorder{}
	best, err := Run(context.Background(), problem, x, heard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(heard.Entries[:len(single.History)], single.History) {
		t.Error("restart 0 is not the single run")
	}
	if best.Objective > single.Objective || len(heard.Restarts) != 8 {
		t.Errorf("best of %d is %g, single %g", len(heard.Restarts), best.Objective, single.Objective)
	}
	if last := best.History[len(best.History)-1]; last.Objective != best.Objective {
		t.Error("the history is not the winner's")
	}
}

func TestStoppingRules(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(6), 200, 2, 5)
	spec := clustering.Spec{
		K: 5, MaxIterations: 2, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Algorithm: &Options{Rho: 2},
	}
	if r := solve(t, points, spec); r.StopReason != clustering.StopMaxIterations || r.Iterations != 2 ||
		len(r.History) != 3 {
		t.Errorf("%v after %d iterations with %d entries", r.StopReason, r.Iterations, len(r.History))
	}
	spec.MaxIterations, spec.Tolerance = 100, 0.5
	if r := solve(t, points, spec); r.StopReason != clustering.StopTolerance {
		t.Errorf("stopped by %v", r.StopReason)
	}
	spec.MaxIterations, spec.Tolerance = 0, 0
	if r := solve(t, points, spec); r.StopReason != clustering.StopMaxIterations || len(r.History) != 1 {
		t.Errorf("%v with %d entries", r.StopReason, len(r.History))
	}
}

func TestCanceledRunKeepsItsLabels(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(6), 200, 2, 5)
	problem, err := Prepare(points, clustering.Spec{
		K: 5, MaxIterations: 100, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Algorithm: &Options{Rho: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(context.Background(), problem, points, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &cancelAfter{iteration: 2, cancel: cancel}
	result, err := Run(ctx, problem, x, o)
	if err != nil || result.StopReason != clustering.StopCanceled || result.Iterations != 2 {
		t.Fatalf("%v, %+v", err, result)
	}
	want := solve(t, points, clustering.Spec{
		K: 5, MaxIterations: 2, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Algorithm: &Options{Rho: 2},
	})
	if !slices.Equal(result.Labels, want.Labels) {
		t.Error("the labels are not those of the last accepted iteration")
	}
}

type cancelAfter struct {
	clusteringtest.Recorder
	iteration int
	cancel    func()
}

func (c *cancelAfter) Observe(e clustering.Event) {
	c.Recorder.Observe(e)
	if done, ok := e.(clustering.IterationDone); ok && done.Iteration == c.iteration {
		c.cancel()
	}
}

func TestConflictsWarnWithCertificate(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 20, 2, 2)
	cs := []constraint.Constraint{{I: 3, J: 5, Kind: constraint.MustLink}, {I: 5, J: 9, Kind: constraint.MustLink},
		{I: 9, J: 3, Kind: constraint.CannotLink}}
	result := solve(t, points, clustering.Spec{
		K: 2, MaxIterations: 10, Supervision: clustering.Supervision{Constraints: cs}, Algorithm: &Options{Rho: 2},
	})
	if len(result.Warnings) == 0 || !strings.Contains(result.Warnings[0].Message, "3 = 5 = 9") {
		t.Errorf("warnings %v", result.Warnings)
	}
}

func TestBadSpecs(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 20, 2, 2)
	negative, err := dataset.NewGraph(0, []dataset.Edge{{Source: 0, Target: 1, Weight: -1},
		{Source: 1, Target: 2, Weight: 3}, {Source: 0, Target: 2, Weight: 3}})
	if err != nil {
		t.Fatal(err)
	}
	zeroRow, err := dataset.NewPoints(2, 2, []float64{1, 2, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	huge, err := dataset.NewPoints(2, 1, []float64{1e30, -1e30})
	if err != nil {
		t.Fatal(err)
	}
	kk := func(o Options) *Options { return &o }
	for name, c := range map[string]struct {
		data   dataset.Dataset
		spec   clustering.Spec
		reason string
		says   string
	}{
		"k zero":       {points, clustering.Spec{Algorithm: kk(Options{})}, "BAD_K", "k is 0"},
		"k too large":  {points, clustering.Spec{K: 21, Algorithm: kk(Options{})}, "BAD_K", "20 rows"},
		"no algorithm": {points, clustering.Spec{K: 2}, "NO_ALGORITHM", ""},
		"seed range": {
			points,
			clustering.Spec{
				K: 2, Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 20, Label: 0}}},
				Algorithm: kk(Options{}),
			},
			"INDEX_OUT_OF_RANGE", "point 20",
		},
		"seed label": {
			points,
			clustering.Spec{
				K: 2, Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 2, Label: 2}}},
				Algorithm: kk(Options{}),
			},
			"BAD_SEED_LABEL", "label 2",
		},
		"seeds disagree": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Seeds: []constraint.Seed{
					{Index: 2, Label: 1}, {Index: 2, Label: 0},
				}},
				Algorithm: kk(Options{}),
			},
			"CONTRADICTORY_SEEDS", "point 2",
		},
		"constraint range": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Constraints: []constraint.Constraint{{
					I: 0, J: 20, Kind: constraint.MustLink,
				}}},
				Algorithm: kk(Options{}),
			},
			"INDEX_OUT_OF_RANGE", "(0,20)",
		},
		"self cannot-link": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Constraints: []constraint.Constraint{{
					I: 3, J: 3, Kind: constraint.CannotLink,
				}}},
				Algorithm: kk(Options{}),
			},
			"SELF_CANNOT_LINK", "point 3",
		},
		"negative weight": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Constraints: []constraint.Constraint{{
					I: 3, J: 4, Kind: constraint.CannotLink, Weight: -1, Weighted: true,
				}}},
				Algorithm: kk(Options{}),
			},
			"BAD_WEIGHT", "(3,4)",
		},
		"point weight": {points,
			clustering.Spec{K: 2, Algorithm: kk(Options{Weights: append(make([]float64, 19), 1)})},
			"BAD_WEIGHT", "point 0"},
		"negative affinity": {negative, clustering.Spec{K: 2, Algorithm: kk(Options{})}, "NEGATIVE_AFFINITY", "0-1"},
		"negative kernel": {points,
			clustering.Spec{K: 2, Algorithm: kk(Options{Function: kernel.Linear, Objective: ObjectiveRatioCut})},
			"", ""},
		"zero row": {zeroRow, clustering.Spec{K: 2, Algorithm: kk(Options{Function: kernel.Cosine})},
			"ZERO_ROW", "row 1"},
		"float32 range": {huge, clustering.Spec{K: 2, Algorithm: kk(Options{Function: kernel.Linear})},
			"OUT_OF_FLOAT32_RANGE", "float32"},
		"start labels": {
			points,
			clustering.Spec{
				K: 2, Initialization: clustering.Initialization{Start: clustering.StartLabels, Labels: []int32{0}},
				Algorithm: kk(Options{}),
			},
			"BAD_START", "20 rows",
		},
	} {
		if c.reason == "" {
			continue
		}
		_, err := trySolve(c.data, c.spec)
		if !fault.Is(refusal.Of(err), c.reason) || !strings.Contains(refusal.Of(err).Error(), c.says) {
			t.Errorf("%s: got %v, want reason %s saying %q", name, err, c.reason, c.says)
		}
	}
	mixed, err := dataset.NewPoints(3, 1, []float64{-1, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trySolve(mixed,
		clustering.Spec{K: 2,
			Algorithm: kk(Options{Function: kernel.Linear, Objective: ObjectiveRatioCut})}); !fault.Is(refusal.Of(err),
		"NEGATIVE_AFFINITY") {
		t.Errorf("negative kernel values under a cut: %v", err)
	}
}

func TestNoticesAboutWeights(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 200, 2, 2)
	codes := func(spec clustering.Spec) (codes []string) {
		for _, n := range solve(t, points, spec).Warnings {
			codes = append(codes, n.Code)
		}
		return codes
	}
	one := []constraint.Constraint{{I: 0, J: 2, Kind: constraint.MustLink}}
	if got := codes(clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: one}, Algorithm: &Options{Rho: 2},
	}); !slices.Contains(got, "HEAVY_CONSTRAINTS") {
		t.Errorf("one constraint of weight 100: %v", got)
	}
	one[0].Weight, one[0].Weighted = 1, true
	if got := codes(clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: one}, Algorithm: &Options{Rho: 2},
	}); len(got) > 0 {
		t.Errorf("a constraint of weight 1: %v", got)
	}
	one[0].Weight = 1e12
	if got := codes(clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: one}, Algorithm: &Options{Rho: 2},
	}); !slices.Contains(got, "COARSE_GRID") {
		t.Errorf("a constraint of weight 1e12: %v", got)
	}
	if got := codes(clustering.Spec{
		K: 2, Restarts: 3, Initialization: clustering.Initialization{Start: clustering.StartFarthestFirst},
		Algorithm: &Options{Rho: 2},
	}); !slices.Equal(got, []string{"RESTARTS_ARE_EQUAL"}) {
		t.Errorf("restarts of one start: %v", got)
	}
}

func TestUnbalancedStartIsReported(t *testing.T) {
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(2), 400, 2)
	says := func(start clustering.Start) bool {
		result := solve(t, graph, clustering.Spec{
			K: 2, Seed: 1, MaxIterations: 20, Initialization: clustering.Initialization{Start: start},
			Algorithm: &Options{},
		})
		return slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool {
			return n.Code == "LOPSIDED_START"
		})
	}
	if !says(clustering.StartKmeansPlusPlus) || says(clustering.StartRandom) {
		t.Error("k-means++ on a sparse graph must be reported as unbalanced, a random start must not")
	}
}

// The eigensolver of a spectral start is heard before the first iteration.
func TestSpectralStartIsHeard(t *testing.T) {
	g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(5), 400, 4)
	problem, err := Prepare(g, clustering.Spec{
		K: 4, Seed: 1, MaxIterations: 3, Initialization: clustering.Initialization{Start: clustering.StartSpectral},
		Algorithm: &Options{},
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(context.Background(), problem, g, 2)
	if err != nil {
		t.Fatal(err)
	}
	var heard clusteringtest.Recorder
	if _, err := Run(context.Background(), problem, x, &heard); err != nil {
		t.Fatal(err)
	}
	if len(heard.Steps) < 2 || heard.EarlySteps != len(heard.Steps) {
		t.Fatalf("%d steps, %d of them before the first iteration", len(heard.Steps), heard.EarlySteps)
	}
	for at, s := range heard.Steps {
		if s.Step != at+1 || s.Wanted != 4 || s.Tolerance != startTolerance {
			t.Errorf("step %d is %+v", at+1, s)
		}
	}
}

// Seeds that all are isolated vertices say nothing about the others, which then start in one cluster.
func TestIsolatedSeeds(t *testing.T) {
	g, err := dataset.NewGraph(12, []dataset.Edge{{Source: 8, Target: 9, Weight: 1}, {Source: 9, Target: 10, Weight: 1},
		{Source: 10, Target: 11, Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{
		K: 2, MaxIterations: 10, Algorithm: &Options{},
		Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0, Label: 0}, {Index: 1, Label: 1}}},
	}
	if got := solve(t, g, spec).Labels; !clustering.Complete(got) || got[0] != 0 || got[1] != 1 {
		t.Errorf("labels %v", got)
	}
}

// The unit of weights is exact down to the smallest float64: the labels are those of the same graph with other weights.
func TestTheSmallestWeights(t *testing.T) {
	var labels [][]int32
	for _, unit := range []float64{1, math.SmallestNonzeroFloat64} {
		rng := clusteringtest.NewRand(5)
		var edges []dataset.Edge
		for i := range int32(60) {
			for range 4 {
				edges = append(edges, dataset.Edge{Source: i, Target: (i + 3*int32(1+rng.IntN(18))) % 60,
					Weight: unit * float64(1+rng.IntN(3))})
			}
			edges = append(edges, dataset.Edge{Source: i, Target: (i + 1) % 60, Weight: unit})
		}
		g, err := dataset.NewGraph(60, edges)
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, solve(t, g, clustering.Spec{K: 3, MaxIterations: 10, Choose: true,
			Algorithm: &Options{KeepBest: true, OnRise: RiseIgnore, RiseOpen: true}}).Labels)
	}
	if !slices.Equal(labels[0], labels[1]) {
		t.Errorf("labels %v and %v", labels[0], labels[1])
	}
}
