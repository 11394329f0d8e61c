package kmeans

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

func solve(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	result, err := trySolve(data, spec)
	if err != nil {
		t.Fatalf("%v: %v", optionsOf(spec).Algorithm, err)
	}
	return result
}

func trySolve(data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	problem, err := Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	x, err := NewLocal(ctx, problem, data, 2)
	if err != nil {
		return nil, err
	}
	return Run(ctx, problem, x, &clusteringtest.Recorder{})
}

func line(t testing.TB, values ...float64) *dataset.Points {
	t.Helper()
	points, err := dataset.NewPoints(len(values), 1, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// The classical dead end of COP-KMeans: points 0, 1 and 0.5, the last cannot-linked to both others, two
// clusters. In index order the first two may take both clusters; it is feasible all the same.
func TestCopLeavesADeadEnd(t *testing.T) {
	for seed := range uint64(20) {
		result := solve(t, line(t, 0, 1, 0.5), clustering.Spec{
			K: 2, Seed: seed, MaxIterations: 100,
			Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
				clusteringtest.CannotLink(0, 2), clusteringtest.CannotLink(1, 2),
			}},
			Algorithm: &Options{Algorithm: CopKmeans},
		})
		if l := result.Labels; l[0] != l[1] || l[0] == l[2] || result.Satisfaction.Satisfied() != 2 {
			t.Errorf("seed %d: labels %v", seed, l)
		}
	}
}

// The directions of must-linked rows may cancel out, so that their mean has none. Their cosines count all the same.
func TestCopStartsFromRowsThatCancelOut(t *testing.T) {
	for seed := range uint64(5) {
		result := solve(t, line(t, 1, -1, 1, 1, -1), clustering.Spec{
			K: 2, Seed: seed, MaxIterations: 10,
			Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
				clusteringtest.MustLink(0, 1), clusteringtest.MustLink(2, 3), clusteringtest.MustLink(3, 4),
				clusteringtest.CannotLink(0, 2),
			}},
			Algorithm: &Options{Algorithm: CopKmeans, Distortion: metric.Cosine},
		})
		if first := *result.History[0].AssignmentObjective; result.Objective != 1 || first != 1 {
			t.Errorf("seed %d: the cosines add up to %v, at first %v, want 1", seed, result.Objective, first)
		}
	}
}

// Given labels may leave a cluster empty, and no row moves where each is at the centroid of its cluster. The cluster is
// filled all the same.
func TestClustersThatGivenLabelsLeaveEmptyAreFilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := 2 + rng.IntN(7)
		k := 2 + rng.IntN(n-1)
		labels := make([]int32, n)
		values := make([]float64, n)
		for i := range labels {
			labels[i], values[i] = int32(rng.IntN(k)), float64(1+rng.IntN(3))
		}
		for _, distortion := range []metric.Distortion{metric.SquaredEuclidean, metric.Cosine} {
			result := solve(t, line(t, values...), clustering.Spec{
				K: k, MaxIterations: 100, Initialization: clustering.Initialization{
					Start: clustering.StartLabels, Labels: labels,
				}, Algorithm: &Options{Algorithm: Kmeans, Distortion: distortion},
			})
			for c := range int32(k) {
				if !slices.Contains(result.Labels, c) {
					t.Fatalf("%v: values %v, start %v, end %v: cluster %d is empty", distortion, values, labels,
						result.Labels, c)
				}
			}
		}
	}
}

// The largest values that are accepted are clustered, although centering and rounding make larger ones of them.
func TestTheLargestValues(t *testing.T) {
	sparse, err := dataset.NewSparsePoints(1, 1, []int64{0, 1}, []int32{0}, []float64{1e90})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]dataset.Dataset{"dense": line(t, 1e90, 1e90, -1e90, 1e90), "sparse": sparse} {
		result, err := trySolve(data, clustering.Spec{K: min(2, data.Rows()), MaxIterations: 10,
			Algorithm: &Options{Algorithm: Kmeans}})
		if err != nil || math.IsNaN(result.Objective) || math.IsInf(result.Objective, 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The three kinds of failure are told apart, each with its certificate.
func TestCopSaysWhyItFails(t *testing.T) {
	points := line(t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	cop := func(k int, cs ...constraint.Constraint) error {
		_, err := trySolve(points, clustering.Spec{
			K: k, MaxIterations: 10, Supervision: clustering.Supervision{Constraints: cs},
			Algorithm: &Options{Algorithm: CopKmeans},
		})
		return err
	}
	var clique []constraint.Constraint
	for i := range int32(4) {
		for j := range i {
			clique = append(clique, clusteringtest.CannotLink(j, i))
		}
	}
	clusteringtest.WantFault(t, cop(3, clique...), "INFEASIBLE_CONSTRAINTS", "proven infeasible",
		"0, 1, 2, 3", "k is 3")
	if err := cop(4, clique...); err != nil {
		t.Errorf("four clusters hold a clique of four: %v", err)
	}
	clusteringtest.WantFault(t, cop(2, clusteringtest.MustLink(0, 1), clusteringtest.MustLink(1, 2),
		clusteringtest.MustLink(2, 3), clusteringtest.CannotLink(0, 3)), "INCONSISTENT_CONSTRAINTS", "0", "1", "2", "3")
	var chain []constraint.Constraint
	for i := range int32(9) {
		chain = append(chain, clusteringtest.MustLink(i, i+1))
	}
	clusteringtest.WantFault(t, cop(2, chain...), "INFEASIBLE_CONSTRAINTS", "leave 1 group of points", "2 clusters")
	// An odd cycle has no clique of three, and no two colors.
	var cycle []constraint.Constraint
	for i := range int32(9) {
		cycle = append(cycle, clusteringtest.CannotLink(i, (i+1)%9))
	}
	clusteringtest.WantFault(t, cop(2, cycle...), "INFEASIBLE_CONSTRAINTS", "exhaustive search")
}

// Constraints that are satisfiable are all satisfied.
func TestCopSatisfiesEveryConstraint(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 30 + rng.IntN(40)
		k := 2 + rng.IntN(3)
		data := clusteringtest.Blobs(t, rng, n, 2, k)
		result := solve(t, data, clustering.Spec{
			K: k, Seed: seed, MaxIterations: 50,
			Supervision: clustering.Supervision{Constraints: clusteringtest.RandomConstraints(rng, n, k, n)},
			Algorithm:   &Options{Algorithm: CopKmeans},
		})
		if s := result.Satisfaction; s.Satisfied() != s.Total {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}

// A must-link chain of 100,000 points is one component, for every method that takes constraints.
func TestLongMustLinkChain(t *testing.T) {
	const n = 100_000
	values := make([]float64, n+4)
	chain := make([]constraint.Constraint, 0, n)
	for i := range values {
		values[i] = float64(i % 7)
	}
	for i := range int32(n - 1) {
		chain = append(chain, clusteringtest.MustLink(i, i+1))
	}
	data := line(t, values...)
	for _, v := range testscale.Some([]Options{
		{Algorithm: CopKmeans}, {Algorithm: PCKmeans, Inference: inference.BP}, {Algorithm: PCKmeans},
		{Algorithm: MPCKmeans},
		{Algorithm: HMRFKmeans, Inference: inference.BP},
	}, 3) {
		result := solve(t, data, clustering.Spec{
			K: 3, MaxIterations: 3, Supervision: clustering.Supervision{Constraints: chain}, Algorithm: &v,
		})
		if v.Algorithm == CopKmeans && result.Satisfaction.Satisfied() != result.Satisfaction.Total {
			t.Errorf("%v: %+v", v.Algorithm, result.Satisfaction)
		}
	}
}

// Seeds: Seeded-KMeans starts from their means, Constrained-KMeans keeps them, and a point that is
// seeded with several labels takes one of them (Basu2002 Fig. 1, Fig. 2 and section 7).
func TestSeeds(t *testing.T) {
	data := line(t, 0, 1, 2, 10, 11, 12, 20, 21, 22)
	seeds := []constraint.Seed{{Index: 0, Label: 2}, {Index: 1, Label: 2}, {Index: 4, Label: 0}, {Index: 8, Label: 1}}
	spec := clustering.Spec{
		K: 3, Supervision: clustering.Supervision{Seeds: seeds}, MaxIterations: 100,
		Algorithm: &Options{Algorithm: SeededKmeans},
	}
	if got, want := solve(t, data, spec).Labels, []int32{2, 2, 2, 0, 0, 0, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
	// A wrong seed is let go by Seeded-KMeans and kept by Constrained-KMeans.
	spec.Supervision.Seeds = append(slices.Clone(seeds), constraint.Seed{Index: 6, Label: 2})
	if got := solve(t, data, spec).Labels[6]; got != 1 {
		t.Errorf("seeded-kmeans keeps a wrong seed in %d", got)
	}
	spec.Algorithm = &Options{Algorithm: ConstrainedKmeans}
	if got := solve(t, data, spec).Labels[6]; got != 2 {
		t.Errorf("constrained-kmeans moves a seed to %d", got)
	}
	// It may have one of two labels, of which the second is near.
	spec.Supervision.Seeds = append(slices.Clone(seeds), constraint.Seed{
		Index: 6, Label: 2, Probability: 0.9,
	}, constraint.Seed{Index: 6, Label: 0, Probability: 0.1})
	if got := solve(t, data, spec).Labels[6]; got != 0 {
		t.Errorf("a point that may be in 2 or 0 goes to %d", got)
	}
	// Fewer labels than clusters: allowed, and said.
	spec.Supervision.Seeds = seeds[:2]
	result := solve(t, data, spec)
	if len(result.Warnings) != 1 || result.Warnings[0].Code != "INCOMPLETE_SEEDS" ||
		slices.Contains(result.ClusterSizes, 0) {
		t.Errorf("incomplete seeds: %v, sizes %v", result.Warnings, result.ClusterSizes)
	}
}

// Sparse points are the same points.
func TestSparsePointsAreTheSamePoints(t *testing.T) {
	for seed := range uint64(4) {
		for _, c := range allCases(t, seed) {
			dense, isDense := c.data.(*dataset.Points)
			if !isDense || optionsOf(c.spec).Distortion < metric.Cosine {
				continue // squared Euclidean points are centered when they are dense
			}
			starts := []int64{0}
			columns := []int32{}
			values := []float64{}
			for i := range dense.N {
				for f, v := range dense.Row(i) {
					if v != 0 {
						columns = append(columns, int32(f))
						values = append(values, v)
					}
				}
				starts = append(starts, int64(len(columns)))
			}
			sparse, err := dataset.NewSparsePoints(dense.N, dense.D, starts, columns, values)
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := trySolve(dense, c.spec)
			got, gotErr := trySolve(sparse, c.spec)
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%s: %v or %v", c.name, wantErr, gotErr)
			}
			if wantErr == nil &&
				(!slices.Equal(got.Labels, want.Labels) ||
					math.Abs(got.Objective-want.Objective) > 1e-9*math.Abs(want.Objective)) {
				t.Errorf("%s: %v, dense %v", c.name, got.Objective, want.Objective)
			}
		}
	}
}

// A run is the same on one thread and on several, and max iterations 0 gives the start.
func TestRunsAreReproducible(t *testing.T) {
	for _, c := range allCases(t, 11) {
		problem, err := Prepare(c.data, c.spec)
		if err != nil {
			continue
		}
		var first *clustering.Result
		for _, threads := range []int{1, 3} {
			x, err := NewLocal(context.Background(), problem, c.data, threads)
			if err != nil {
				t.Fatal(err)
			}
			result, err := Run(context.Background(), problem, x, &clusteringtest.Recorder{})
			if err != nil {
				break
			}
			if first == nil {
				first = result
			} else if !slices.Equal(first.Labels, result.Labels) || first.Objective != result.Objective ||
				!slices.Equal(first.Model.Centroids, result.Model.Centroids) {
				t.Errorf("%s: %v on one thread, %v on three", c.name, first.Objective, result.Objective)
			}
		}
		spec := c.spec
		spec.MaxIterations = 0
		if start, err := trySolve(c.data, spec); err == nil &&
			(len(start.History) > 0 || slices.Contains(start.Labels, -1) || start.Objective == 0) {
			t.Errorf("%s: the start alone has %d entries and labels %v", c.name, len(start.History), start.Labels)
		}
	}
}

// Bad input is refused with its reason.
func TestBadInput(t *testing.T) {
	points := line(t, 1, 2, 3, 4)
	negative := line(t, 1, -2, 3, 4)
	zero, err := dataset.NewPoints(3, 2, []float64{1, 1, 0, 0, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	options := func(o Options) *Options { return &o }
	for name, c := range map[string]struct {
		data   dataset.Dataset
		spec   clustering.Spec
		reason string
		says   string
	}{
		"no seeds": {points, clustering.Spec{K: 2, Algorithm: options(Options{Algorithm: SeededKmeans})},
			"NO_SEEDS", ""},
		"seed of label k": {
			points,
			clustering.Spec{
				K: 2, Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0, Label: 2}}},
				Algorithm: options(Options{Algorithm: SeededKmeans}),
			},
			"BAD_SEED_LABEL", "label 2",
		},
		"contradictory seeds": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Seeds: []constraint.Seed{
					{Index: 1, Label: 0}, {Index: 1, Label: 1},
				}},
				Algorithm: options(Options{Algorithm: SeededKmeans}),
			},
			"CONTRADICTORY_SEEDS", "point 1",
		},
		"half certain seed": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Seeds: []constraint.Seed{
					{Index: 1, Label: 0}, {Index: 1, Label: 1, Probability: 0.5},
				}},
				Algorithm: options(Options{Algorithm: SeededKmeans}),
			},
			"CONTRADICTORY_SEEDS", "point 1",
		},
		"probability": {
			points,
			clustering.Spec{
				K: 2,
				Supervision: clustering.Supervision{Seeds: []constraint.Seed{{
					Index: 1, Label: 0, Probability: math.NaN(),
				}}},
				Algorithm: options(Options{Algorithm: SeededKmeans}),
			},
			"BAD_PROBABILITY", "point 1",
		},
		"negative for KL": {negative,
			clustering.Spec{K: 2, Algorithm: options(Options{Algorithm: HMRFKmeans, Distortion: metric.KL})},
			"NEGATIVE_VALUE", "row 1"},
		"negative for I": {negative,
			clustering.Spec{K: 2, Algorithm: options(Options{Algorithm: HMRFKmeans, Distortion: metric.IDivergence})},
			"NEGATIVE_VALUE", "row 1"},
		"zero row": {zero,
			clustering.Spec{K: 2, Algorithm: options(Options{Algorithm: Kmeans, Distortion: metric.Cosine})},
			"", "row 1"},
		"centroids": {
			points,
			clustering.Spec{
				K: 2, Initialization: clustering.Initialization{Start: clustering.StartCentroids},
				Algorithm: options(Options{Algorithm: Kmeans, InitialCentroids: []float64{1, 2, 3}}),
			},
			"BAD_START", "need 2",
		},
		"centroids that are no numbers": {
			points,
			clustering.Spec{
				K: 2, Initialization: clustering.Initialization{Start: clustering.StartCentroids},
				Algorithm: options(Options{Algorithm: Kmeans, InitialCentroids: []float64{1, math.Inf(1)}}),
			},
			"BAD_START", "cluster 1",
		},
		"centroids too large": {points, clustering.Spec{K: 2, MaxIterations: 1,
			Initialization: clustering.Initialization{Start: clustering.StartCentroids},
			Algorithm:      options(Options{Algorithm: Kmeans, InitialCentroids: []float64{1, 1e100}})}, "BAD_START",
			"cluster 1"},
		"no algorithm": {points, clustering.Spec{K: 2}, "NO_ALGORITHM", "no algorithm"},
	} {
		_, err := trySolve(c.data, c.spec)
		f, ok := errors.AsType[*fault.Error](refusal.Of(err))
		if !ok || (c.reason != "" && f.Reason != c.reason) || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// k-means on separated blobs finds them; an emptied cluster is filled.
func TestKmeansFindsBlobs(t *testing.T) {
	data := line(t, 0, 0.1, 0.2, 10, 10.1, 10.2, 20, 20.1, 20.2)
	empty := solve(t, data, clustering.Spec{K: 3, MaxIterations: 100,
		Initialization: clustering.Initialization{Start: clustering.StartCentroids},
		Algorithm:      &Options{Algorithm: Kmeans, InitialCentroids: []float64{0, 1000, 2000}}})
	if slices.Contains(empty.ClusterSizes, 0) {
		t.Errorf("sizes %v", empty.ClusterSizes)
	}
	result := solve(t, data, clustering.Spec{K: 3, MaxIterations: 100, Restarts: 5,
		Algorithm: &Options{Algorithm: Kmeans}})
	if !slices.Equal(result.ClusterSizes, []int{3, 3, 3}) || result.StopReason != clustering.StopConverged {
		t.Errorf("sizes %v, %v", result.ClusterSizes, result.StopReason)
	}
	if first := result.History[0]; first.Iteration != 1 || first.Moved != 9 || first.AssignmentObjective == nil {
		t.Errorf("the history begins with %+v", first)
	}
	slices.Sort(result.Model.Centroids)
	for at, want := range []float64{0.1, 10.1, 20.1} {
		if math.Abs(result.Model.Centroids[at]-want) > 1e-12 {
			t.Errorf("centroids %v", result.Model.Centroids)
		}
	}
}

// A feature that does not vary leaves the metric undetermined there: it stays positive, and is said.
func TestDegenerateMetricIsKeptAndSaid(t *testing.T) {
	values := make([]float64, 0, 60)
	for i := range 20 {
		values = append(values, float64(i%2)*5+float64(i)/50, 7, float64(i%3))
	}
	data, err := dataset.NewPoints(20, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []metric.Form{metric.Diagonal, metric.Full} {
		result := solve(t, data, clustering.Spec{
			K: 2, MaxIterations: 20, Initialization: clustering.Initialization{Start: clustering.StartKmeansPlusPlus},
			Algorithm: &Options{Algorithm: MKmeans, Metric: form},
		})
		said := slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool {
			return n.Code == "DEGENERATE_METRIC"
		})
		spread, err := result.Model.Metric.Spread(t.Context())
		if err != nil || !said || !(spread > 0) || math.IsInf(spread, 0) {
			t.Errorf("%v: warnings %v, spread %g", form, result.Warnings, spread)
		}
	}
}

// A start that k-means does not have is named, before a sweep finds no centroids.
func TestUnknownStart(t *testing.T) {
	spec := clustering.Spec{
		K: 2, MaxIterations: 10, Initialization: clustering.Initialization{Start: clustering.StartSpectral},
		Algorithm: &Options{Algorithm: Kmeans},
	}
	if _, err := trySolve(line(t, 0, 1, 8, 9), spec); err == nil ||
		!strings.Contains(err.Error(), "k-means has no start") {
		t.Errorf("got %v", err)
	}
}
