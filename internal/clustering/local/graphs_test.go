package local_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// scatteredEdges are those of a graph of n vertices in pieces of any size, some of them without edges, with loops, and
// with edges of weight 0.
func scatteredEdges(rng *rand.Rand, n int) []dataset.Edge {
	var edges []dataset.Edge
	for from := 0; from < n; {
		size := 1 + rng.IntN(n-from)
		if rng.IntN(2) == 0 {
			size = min(size, 1+rng.IntN(3))
		}
		for range rng.IntN(3 * size) {
			e := dataset.Edge{Source: int32(from + rng.IntN(size)), Target: int32(from + rng.IntN(size)),
				Weight: 0.25 + rng.Float64()}
			if rng.IntN(10) == 0 {
				e.Weight = 0
			}
			if e.Source != e.Target || rng.IntN(3) == 0 {
				edges = append(edges, e)
			}
		}
		from += size
	}
	return edges
}

// graphOf is the graph of these edges, with weights times 2^p.
func graphOf(t *testing.T, n int, edges []dataset.Edge, p int) *dataset.Graph {
	t.Helper()
	edges = slices.Clone(edges)
	for at := range edges {
		edges[at].Weight = math.Ldexp(edges[at].Weight, p)
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// graphAlgorithms are all algorithms for graphs that need no constraints, for k clusters.
func graphAlgorithms(k int) map[string]clustering.Spec {
	specs := map[string]clustering.Spec{}
	for o := kernelkmeans.ObjectiveKernelKmeans; o <= kernelkmeans.ObjectiveNormalizedCut; o++ {
		for _, start := range []clustering.Start{clustering.StartDefault, clustering.StartRandom,
			clustering.StartKmeansPlusPlus, clustering.StartFarthestFirst, clustering.StartSpectral,
			clustering.StartMultilevel} {
			specs[fmt.Sprintf("%v from %v", o, start)] = clustering.Spec{
				K: k, Initialization: clustering.Initialization{Start: start}, Restarts: 2, MaxIterations: 20,
				Algorithm: &kernelkmeans.Options{Objective: o},
			}
		}
		specs[fmt.Sprintf("%v by default", o)] = clustering.Spec{K: k, MaxIterations: 20, Choose: true,
			Algorithm: &kernelkmeans.Options{Objective: o, KeepBest: true, RiseOpen: true,
				OnRise: kernelkmeans.RiseIgnore}}
		specs[fmt.Sprintf("%v with a shift", o)] = clustering.Spec{K: k, MaxIterations: 20,
			Algorithm: &kernelkmeans.Options{Objective: o, SigmaAuto: true}}
	}
	specs["auto"] = clustering.Spec{K: k, MaxIterations: 20, Choose: true, Algorithm: &auto.Options{}}
	for c := spectral.ComponentsAuto; c <= spectral.ComponentsJoin && k > 1; c++ {
		specs[fmt.Sprintf("spectral, %v", c)] = clustering.Spec{K: k,
			Algorithm: &spectral.Options{Algorithm: spectral.Spectral, Components: c}}
		specs[fmt.Sprintf("spectral association, %v", c)] = clustering.Spec{K: k,
			Algorithm: &spectral.Options{Algorithm: spectral.Spectral,
				Objective: kernelkmeans.ObjectiveRatioAssociation, Components: c}}
		specs[fmt.Sprintf("spectral learning, %v", c)] = clustering.Spec{K: k,
			Algorithm: &spectral.Options{Algorithm: spectral.Learning, Components: c}}
	}
	return specs
}

// Whatever a graph is like, every algorithm answers, with labels from 0 to k-1.
func TestEveryGraphIsAnswered(t *testing.T) {
	for seed := range uint64(testscale.Count(16, 40)) {
		rng := clusteringtest.NewRand(seed)
		n := 1 + rng.IntN(40)
		k := 1 + rng.IntN(min(n, 6))
		edges := scatteredEdges(rng, n)
		if seed%4 == 3 { // weights of all magnitudes
			for at := range edges {
				edges[at].Weight *= math.Pow(10, rng.Float64()*400-250)
			}
		}
		graph := graphOf(t, n, edges, 0)
		var constraints []constraint.Constraint
		for range rng.IntN(6) * int(seed%2) {
			if i, j := int32(rng.IntN(n)), int32(rng.IntN(n)); i != j {
				constraints = append(constraints, constraint.Constraint{I: i, J: j,
					Kind: constraint.Kind(1 + rng.IntN(2)), Weight: 0.5, Weighted: rng.IntN(2) == 0})
			}
		}
		for name, spec := range graphAlgorithms(k) {
			spec.Seed, spec.Supervision.Constraints = seed, constraints
			result, err := local.Solve(t.Context(), graph, spec, 1, clustering.NopObserver{})
			if err != nil {
				t.Errorf("seed %d, %d vertices, k = %d, %s: %v", seed, n, k, name, err)
				continue
			}
			if len(result.Labels) != n || slices.Min(result.Labels) < 0 || int(slices.Max(result.Labels)) >= k {
				t.Errorf("seed %d, %s: labels %v of %d clusters", seed, name, result.Labels, k)
			}
			if math.IsNaN(result.Objective) || math.IsInf(result.Objective, 0) {
				t.Errorf("seed %d, %s: objective %v", seed, name, result.Objective)
			}
		}
	}
}

// The unit of the weights does not change a label, and objectives have it. Eigenvectors divide by roots of degrees,
// whose bits are the same for powers of four; where pieces of a graph have the same eigenvalue, the last bit of those
// decides.
func TestTheUnitOfWeightsDoesNotMatter(t *testing.T) {
	for seed := range uint64(4) {
		rng := clusteringtest.NewRand(seed)
		n := 20 + rng.IntN(20)
		edges := scatteredEdges(rng, n)
		for name, spec := range graphAlgorithms(3) {
			spec.Seed = seed
			want, err := local.Solve(t.Context(), graphOf(t, n, edges, 0), spec, 1, clustering.NopObserver{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []int{-996, -61, 50, 498} {
				if p%2 != 0 && strings.Contains(name, "spectral") {
					continue
				}
				got, err := local.Solve(t.Context(), graphOf(t, n, edges, p), spec, 1, clustering.NopObserver{})
				if err != nil {
					t.Errorf("%s, seed %d, weights times 2^%d: %v", name, seed, p, err)
					continue
				}
				unit := math.Ldexp(1, p)
				if got.ObjectiveName == kernelkmeans.ObjectiveNormalizedCut.String() {
					unit = 1
				}
				if !slices.Equal(got.Labels, want.Labels) || got.Objective != want.Objective*unit {
					t.Errorf("%s, seed %d, weights times 2^%d: objective %g, labels %v; else %g and %v", name, seed, p,
						got.Objective, got.Labels, want.Objective, want.Labels)
				}
			}
		}
	}
}

// Two cliques and vertices without edges: those join the cluster of their must-links, avoid that of their
// cannot-links, and else go to the larger clique.
func TestIsolatedVerticesJoinClusters(t *testing.T) {
	var edges []dataset.Edge
	for i := range int32(12) {
		for j := range i {
			if (i < 5) == (j < 5) {
				edges = append(edges, dataset.Edge{Source: i, Target: j, Weight: 1})
			}
		}
	}
	edges = append(edges, dataset.Edge{Source: 0, Target: 5, Weight: 0.1})
	graph := graphOf(t, 16, edges, 0)
	constraints := []constraint.Constraint{
		clusteringtest.MustLink(12, 0), clusteringtest.MustLink(12, 13), clusteringtest.CannotLink(14, 6),
		clusteringtest.MustLink(1, 2), clusteringtest.CannotLink(1, 7),
	}
	for _, spec := range []clustering.Spec{
		{K: 2, MaxIterations: 20, Algorithm: &kernelkmeans.Options{}},
		{
			K: 2, MaxIterations: 20, Initialization: clustering.Initialization{Start: clustering.StartSpectral},
			Algorithm: &kernelkmeans.Options{},
		},
		{K: 2, Algorithm: &spectral.Options{Algorithm: spectral.Spectral}},
		{K: 2, Algorithm: &spectral.Options{Algorithm: spectral.Learning}},
		{K: 2, Algorithm: &spectral.Options{Algorithm: spectral.Constrained}},
	} {
		spec.Supervision.Constraints = constraints
		result, err := local.Solve(t.Context(), graph, spec, 1, clustering.NopObserver{})
		if err != nil {
			t.Fatalf("%s: %v", spec.Algorithm.Name(), err)
		}
		l := result.Labels
		small, large := l[1], l[6]
		if small == large || slices.ContainsFunc(l[:5], func(c int32) bool { return c != small }) ||
			slices.ContainsFunc(l[5:12], func(c int32) bool { return c != large }) {
			t.Errorf("%s: the cliques are %v", spec.Algorithm.Name(), l[:12])
		}
		if want := []int32{small, small, small, large}; !slices.Equal(l[12:16], want) {
			t.Errorf("%s: the vertices without edges are %v, want %v", spec.Algorithm.Name(), l[12:16], want)
		}
		namesThem := func(n clustering.Notice) bool {
			return n.Code == "ISOLATED_VERTICES" && slices.Contains(n.Parts, text.Row(12))
		}
		if !slices.ContainsFunc(result.Warnings, namesThem) {
			t.Errorf("%s warns of %v", spec.Algorithm.Name(), result.Warnings)
		}
	}
}

// Each spectral algorithm gives a cluster to pieces that are large enough for one, and none to debris around them.
func TestSmallPiecesTakeNoPart(t *testing.T) {
	rng := clusteringtest.NewRand(1)
	var edges []dataset.Edge
	const block, blocks, debris = 40, 3, 30
	for i := range int32(block * blocks) {
		for range 8 {
			j := i/block*block + int32(rng.IntN(block))
			if rng.IntN(16) == 0 {
				j = int32(rng.IntN(block * blocks))
			}
			edges = append(edges, dataset.Edge{Source: i, Target: j, Weight: 1})
		}
	}
	n := int32(block * blocks)
	for range debris {
		edges = append(edges, dataset.Edge{Source: n, Target: n + 1, Weight: 1})
		n += 2
	}
	graph := graphOf(t, int(n), edges, 0)
	for _, algorithm := range []spectral.Algorithm{spectral.Spectral, spectral.Learning} {
		auto, err := local.Solve(t.Context(), graph,
			clustering.Spec{K: blocks, Algorithm: &spectral.Options{Algorithm: algorithm}}, 1, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		for b := range blocks {
			of := auto.Labels[b*block : (b+1)*block]
			if slices.ContainsFunc(of, func(c int32) bool { return c != of[0] }) || b > 0 && of[0] == auto.Labels[0] {
				t.Errorf("%v: block %d is %v", algorithm, b, of)
			}
		}
		keep, err := local.Solve(t.Context(), graph,
			clustering.Spec{K: blocks,
				Algorithm: &spectral.Options{Algorithm: algorithm, Components: spectral.ComponentsKeep}}, 1,
			clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		if keep.Labels[0] != keep.Labels[block] {
			t.Errorf("%v tells blocks apart although small pieces take part: this test shows nothing", algorithm)
		}
	}
}
