package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func trySolve(data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	problem, err := Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	x, err := kernelkmeans.NewLocal(ctx, problem.Problem, data, 2)
	if err != nil {
		return nil, err
	}
	return problem.RunAndScore(ctx, x, &clusteringtest.Recorder{})
}

// wangGraph is the example of Wang2014 4.4: six vertices, seven edges.
func wangGraph(t testing.TB) *dataset.Graph {
	t.Helper()
	var edges []dataset.Edge
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 5}} {
		edges = append(edges, dataset.Edge{Source: e[0], Target: e[1], Weight: 1})
	}
	g, err := dataset.NewGraph(6, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wangBeliefs is the Q of the example: the first four vertices together, the last two apart from them.
func wangBeliefs(diagonal bool) []constraint.Belief {
	side := []float64{1, 1, 1, 1, -1, -1}
	var q []constraint.Belief
	for i := range int32(6) {
		for j := i; j < 6; j++ {
			if i != j || diagonal {
				q = append(q, constraint.Belief{I: i, J: j, Value: side[i] * side[j]})
			}
		}
	}
	return q
}

// The example of Wang2014 4.4, to five digits.
func TestWang2014Example(t *testing.T) {
	g := wangGraph(t)
	for name, c := range map[string]struct {
		diagonal bool
		ratio    float64
		lambda   float64
		u        []float64
	}{
		"beta = vol": {true, 1, 0.138987, []float64{1.49126, 1.49126, 1.20576, 0.43751,
			-0.20541, -0.20541}},
		"beta = 2 vol": {true, 2, 0.586383, []float64{1.33588, 1.33588, 1.00368, 0.40495,
			-0.91483, -0.91483}},
		"beta = vol, without the diagonal": {false, 1, 0.242750, []float64{1.44328, 1.44328, 1.14953, 0.33339,
			-0.58524, -0.58524}},
	} {
		result, err := trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{
			Algorithm: Constrained, BetaRule: BetaGiven, Beta: 14 * c.ratio, Beliefs: wangBeliefs(c.diagonal)}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := result.Spectral.Eigen; got.Volume != 14 || math.Abs(got.Eigenvalues[0]-c.lambda) > 5e-6 {
			t.Errorf("%s: volume %g, lambda %.6f, want %.6f", name, got.Volume, got.Eigenvalues[0], c.lambda)
		}
		for i, want := range c.u {
			if got := result.Spectral.Embedding.Values[i]; math.Abs(got-want) > 5e-5 {
				t.Errorf("%s: u[%d] = %.5f, want %.5f", name, i, got, want)
			}
		}
		for i, label := range result.Labels {
			if want := int32(0); (i >= 4) != (label == 1) && label == want+1 {
				t.Errorf("%s: labels %v", name, result.Labels)
			}
		}
	}
}

// An infeasible beta is refused with the largest feasible one, and so is a Q that only says apart.
func TestWang2014InfeasibleBeta(t *testing.T) {
	g := wangGraph(t)
	_, err := trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{
		Algorithm: Constrained, BetaRule: BetaGiven, Beta: 14 * 2.3, Beliefs: wangBeliefs(false)}})
	clusteringtest.WantFault(t, err, "INFEASIBLE_BETA", "30.9449") // 2.21035 vol
	if _, err := trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{
		Algorithm: Constrained, BetaRule: BetaGiven, Beta: 14 * 2.21, Beliefs: wangBeliefs(false)}}); err != nil {
		t.Errorf("just below the largest: %v", err)
	}
	_, err = trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{
		Algorithm: Constrained, BetaRule: BetaGiven, Beta: 14, Beliefs: []constraint.Belief{{I: 0, J: 5, Value: -1}}}})
	clusteringtest.WantFault(t, err, "INFEASIBLE_BETA")
	_, err = trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{Algorithm: Constrained}})
	clusteringtest.WantFault(t, err, "NO_BELIEFS")
}

// Two moons that plain spectral clustering cuts wrongly come out right with constraints; three blocks of
// a graph come out of all three algorithms.
func TestSpectralFamilyFindsClusters(t *testing.T) {
	points, truth, err := synth.TwoMoons(200, 0.05, rand.New(rand.NewPCG(4, 4)))
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(rng *rand.Rand, truth []int32, count int) []constraint.Constraint {
		var list []constraint.Constraint
		for len(list) < count {
			i := int32(rng.IntN(len(truth)))
			j := int32(rng.IntN(len(truth)))
			if i == j {
				continue
			}
			kind := constraint.CannotLink
			if truth[i] == truth[j] {
				kind = constraint.MustLink
			}
			list = append(list, constraint.Constraint{I: i, J: j, Kind: kind})
		}
		return list
	}
	score := func(data dataset.Dataset, truth []int32, spec clustering.Spec) float64 {
		t.Helper()
		result, err := trySolve(data, spec)
		if err != nil {
			t.Fatalf("%v: %v", optionsOf(spec).Algorithm, err)
		}
		scores, err := evaluate.Compare(result.Labels, truth, nil)
		if err != nil {
			t.Fatal(err)
		}
		return scores.ARI
	}
	wide := Options{Rho: 0.5}
	plain := wide
	plain.Algorithm = Spectral
	with := wide
	with.Algorithm, with.BetaRule = Constrained, BetaStrict
	without := score(points, truth, clustering.Spec{K: 2, Algorithm: &plain})
	constrained := score(points, truth, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: pairs(clusteringtest.NewRand(1), truth, 2000)},
		Algorithm: &with,
	})
	if without > 0.5 || constrained < 0.95 {
		t.Errorf("ARI %.2f without constraints, %.2f with them", without, constrained)
	}
	blocks := make([]int32, 150)
	rng := clusteringtest.NewRand(8)
	var edges []dataset.Edge
	for i := range blocks {
		blocks[i] = int32(i % 3)
		for j := range i {
			if chance := rng.Float64(); chance < 0.02 || (blocks[i] == blocks[j] && chance < 0.2) {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
			}
		}
	}
	g, err := dataset.NewGraph(150, edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []Algorithm{Spectral, Learning, Constrained} {
		spec := clustering.Spec{K: 3, Algorithm: &Options{Algorithm: algorithm, BetaRule: BetaPaper}}
		if algorithm != Spectral {
			spec.Supervision.Constraints = pairs(clusteringtest.NewRand(2), blocks, 200)
		}
		if ari := score(g, blocks, spec); ari < 0.9 {
			t.Errorf("%v: ARI %.2f", algorithm, ari)
		}
	}
	for _, d := range []Discretization{DiscretizePlain, DiscretizeSign, DiscretizeWeighted} {
		if ari := score(g, blocks, clustering.Spec{
			K: 3, Supervision: clustering.Supervision{Constraints: pairs(clusteringtest.NewRand(2), blocks, 300)},
			Algorithm: &Options{Algorithm: Constrained, BetaRule: BetaPaper, Discretization: d},
		}); ari < 0.8 {
			t.Errorf("discretization %d: ARI %.2f", d, ari)
		}
	}
}

// Two triangles without an edge between them: the cut costs nothing, which is reported. Joined, they are one graph
// with a cheap cut.
func TestDisconnectedGraph(t *testing.T) {
	var edges []dataset.Edge
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}} {
		edges = append(edges, dataset.Edge{Source: e[0], Target: e[1], Weight: 1})
	}
	g, err := dataset.NewGraph(6, edges)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := trySolve(g, clustering.Spec{K: 2, Algorithm: &Options{Algorithm: Spectral}})
	if err != nil || len(plain.Warnings) != 1 || plain.Warnings[0].Code != "DISCONNECTED_GRAPH" ||
		plain.Objective > 1e-9 {
		t.Errorf("spectral: %+v, %v", plain, err)
	}
	together := []constraint.Constraint{clusteringtest.MustLink(0, 1), clusteringtest.CannotLink(1, 4)}
	for _, join := range []bool{false, true} {
		policy := ComponentsAuto
		if join {
			policy = ComponentsJoin
		}
		result, err := trySolve(g, clustering.Spec{
			K: 2, Supervision: clustering.Supervision{Constraints: together},
			Algorithm: &Options{Algorithm: Constrained, BetaRule: BetaPaper, Components: policy},
		})
		if !join { // nothing but the cut between them is feasible
			clusteringtest.WantFault(t, err, "TOO_FEW_CUTS", "2 connected components",
				"set components to join to connect them")
			continue
		}
		if err != nil || len(result.Warnings) != 1 || result.Warnings[0].Code != "COMPONENTS_JOINED" {
			t.Fatalf("join %v: %+v, %v", join, result, err)
		}
		if l := result.Labels; l[0] != l[1] || l[0] != l[2] || l[3] != l[4] || l[3] != l[5] || l[0] == l[3] {
			t.Errorf("join %v: labels %v", join, l)
		}
	}
}

// Every component that is kept takes a dense column, so their number is limited.
func TestTooManyComponents(t *testing.T) {
	const pairs = maxNullVectors + 1
	var edges []dataset.Edge
	for i := range int32(pairs) {
		edges = append(edges, dataset.Edge{Source: 2 * i, Target: 2*i + 1, Weight: 1})
	}
	g, err := dataset.NewGraph(2*pairs, edges)
	if err != nil {
		t.Fatal(err)
	}
	together := []constraint.Constraint{clusteringtest.MustLink(0, 1), clusteringtest.CannotLink(1, 4)}
	_, err = trySolve(g, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: together},
		Algorithm: &Options{Algorithm: Constrained, BetaRule: BetaPaper, Components: ComponentsKeep},
	})
	clusteringtest.WantFault(t, err, "TOO_MANY_COMPONENTS", "1001 connected components", "at most 1000", "join")
}

// Kernel k-means that starts from eigenvectors ends at least as low as it started, and finds the blocks
// that a random start may miss.
func TestSpectralStart(t *testing.T) {
	for seed := range uint64(6) {
		g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(seed), 120, 3)
		start := solveMatrix(t, g, clustering.Spec{
			K: 3, Seed: seed, Initialization: clustering.Initialization{Start: clustering.StartSpectral},
			Algorithm: &kernelkmeans.Options{},
		})
		end := solveMatrix(t, g, clustering.Spec{
			K: 3, Seed: seed, MaxIterations: 100,
			Initialization: clustering.Initialization{Start: clustering.StartSpectral},
			Algorithm:      &kernelkmeans.Options{},
		})
		spectral, err := trySolve(g, clustering.Spec{K: 3, Seed: seed, Algorithm: &Options{Algorithm: Spectral}})
		if err != nil {
			t.Fatal(err)
		}
		if end.Objective > start.Objective || math.Abs(start.Objective-spectral.Objective) > 0.05 {
			t.Errorf("seed %d: %g from %g, spectral %g", seed, end.Objective, start.Objective, spectral.Objective)
		}
	}
}

func optionsOf(spec clustering.Spec) *Options { return spec.Algorithm.(*Options) }

// solveRows runs k-means.
func solveRows(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	problem, err := kmeans.Prepare(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kmeans.NewLocal(t.Context(), problem, data, 2)
	if err != nil {
		t.Fatal(err)
	}
	result, err := kmeans.Run(t.Context(), problem, x, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// solveMatrix runs kernel k-means.
func solveMatrix(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	problem, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kernelkmeans.NewLocal(t.Context(), problem, data, 2)
	if err != nil {
		t.Fatal(err)
	}
	result, err := kernelkmeans.Run(t.Context(), problem, x, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
