package spectral

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The beliefs of labels, which are never stored, against all their entries.
func TestBeliefsOfLabelsAreAMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for range 50 {
		n := 3 + rng.IntN(12)
		k := 2 + rng.IntN(3)
		var seeds []constraint.Seed
		for i := range n {
			switch rng.IntN(3) {
			case 0:
				seeds = append(seeds, constraint.Seed{Index: int32(i), Label: int32(rng.IntN(k))})
			case 1:
				for label := range k {
					seeds = append(seeds, constraint.Seed{Index: int32(i), Label: int32(label),
						Probability: 0.1 + rng.Float64()*0.9})
				}
			}
		}
		pairs := []constraint.Belief{{I: 0, J: int32(n - 1), Value: -0.5}, {I: int32(n - 1), J: 0, Value: 0.75},
			{I: 1, J: 1, Value: 2}}
		none := newSeedBeliefs(clustering.Spec{K: k})
		some := newSeedBeliefs(clustering.Spec{
			K: k, Supervision: clustering.Supervision{Seeds: seeds},
		})
		for _, c := range []struct {
			pairs []constraint.Belief
			seeds seedBeliefs
		}{{pairs, none}, {nil, some}, {pairs, some}} {
			q, err := newBeliefs(n, c.pairs, c.seeds)
			if err != nil {
				t.Fatal(err)
			}
			checkBeliefs(t, q, n, rng)
		}
	}
	certain := newSeedBeliefs(clustering.Spec{
		K: 2,
		Supervision: clustering.Supervision{Seeds: []constraint.Seed{
			{Index: 1, Label: 0}, {Index: 4, Label: 1}, {Index: 2, Label: 0},
		}},
	})
	for _, want := range []struct {
		i, j   int32
		belief float64
	}{{1, 2, 1}, {2, 1, 1}, {1, 4, -1}, {1, 1, 0}, {0, 1, 0}} {
		if got := certain.entry(want.i, want.j); got != want.belief {
			t.Errorf("the belief in %d and %d is %g, not %g", want.i, want.j, got, want.belief)
		}
	}
}

func checkBeliefs(t *testing.T, q *beliefs, n int, rng *rand.Rand) {
	t.Helper()
	x := make([]float64, n)
	scale := make([]float64, n)
	want := make([]float64, n)
	for i := range n {
		x[i], scale[i] = rng.NormFloat64(), 0.5+rng.Float64()
	}
	total, form := 0.0, 0.0
	for i := range n {
		for j := range n {
			v := q.entry(int32(i), int32(j))
			if v != q.entry(int32(j), int32(i)) {
				t.Fatalf("the entries of %d and %d differ", i, j)
			}
			total += v
			form += x[i] * v * x[j]
			want[i] += scale[i] * v * scale[j] * x[j]
		}
	}
	group := make([]int, n)
	for at, points := range q.groups() {
		for _, i := range points {
			group[i] = at + 1
		}
	}
	for i := range n {
		for j := range n {
			if group[i] != group[j] && q.entry(int32(i), int32(j)) != 0 {
				t.Fatalf("%d and %d have beliefs in each other and are in groups %d and %d", i, j, group[i], group[j])
			}
		}
	}
	got := make([]float64, n)
	if err := q.multiply(t.Context(), [][]float64{got}, [][]float64{x}, scale); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("row %d of the product is %g, of its entries %g", i, got[i], want[i])
		}
	}
	satisfied, err := q.satisfaction(t.Context(), x)
	if math.Abs(q.sum()-total) > 1e-10 || math.Abs(satisfied-form) > 1e-10 || err != nil {
		t.Fatalf("sum %g and form %g, by the entries %g and %g (%v)", q.sum(), satisfied, total, form, err)
	}
}

// Points without beliefs have the eigenvalue 0: where beta is below 0 they are feasible too, and so are the
// eigenvalues of Qbar between beta and 0. The trivial vector never is.
func TestFeasibleVectorsBelowZero(t *testing.T) {
	graph := wangGraph(t)                             // six vertices
	q := []constraint.Belief{{I: 0, J: 1, Value: -1}} // eigenvalues 1/d, -1/d and four times 0
	for _, c := range []struct {
		beta     float64
		feasible int
	}{
		{1, 1},   // 1/d alone
		{-1, 5},  // and the zeros; 1'Q1 = -2 is below
		{-3, 4},  // and D^1/2 1 is above, which is no cut
		{-50, 5}, // all six but that
	} {
		result, err := trySolve(graph, clustering.Spec{K: 2, Algorithm: &Options{
			Algorithm: Constrained, Beliefs: q, BetaRule: BetaGiven, Beta: c.beta,
		}})
		if err != nil || *result.Spectral.Eigen.FeasibleVectors != c.feasible {
			t.Errorf("beta %g: %v, %+v", c.beta, err, result)
		}
	}
}

// A few constraints on many points say nothing about the others, which is reported; labels of a quarter of the
// points find the blocks.
func TestCutsByChanceAreReported(t *testing.T) {
	edges, truth, err := synth.Blocks(300, 3, 12, 2, clusteringtest.NewRand(3))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(300, edges)
	if err != nil {
		t.Fatal(err)
	}
	var few []constraint.Constraint
	for i := range int32(10) {
		kind := constraint.CannotLink
		if truth[20*i] == truth[20*i+6] {
			kind = constraint.MustLink
		}
		few = append(few, constraint.Constraint{I: 20 * i, J: 20*i + 6, Kind: kind})
	}
	var labels []constraint.Seed
	for i := int32(0); i < 300; i += 4 {
		labels = append(labels, constraint.Seed{Index: i, Label: truth[i]})
	}
	for _, c := range []struct {
		spec     clustering.Spec
		byChance bool
	}{
		{
			clustering.Spec{
				K: 3, Supervision: clustering.Supervision{Constraints: few},
				Algorithm: &Options{Algorithm: Constrained, BetaRule: BetaPaper},
			},
			true,
		},
		{
			clustering.Spec{
				K: 3, Supervision: clustering.Supervision{Seeds: labels},
				Algorithm: &Options{Algorithm: Constrained, BetaRule: BetaPaper},
			},
			false,
		},
	} {
		result, err := trySolve(graph, c.spec)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool {
			return n.Code == "CUTS_BY_CHANCE"
		})
		scores, err := evaluate.Compare(result.Labels, truth, nil)
		if err != nil {
			t.Fatal(err)
		}
		if told != c.byChance || c.byChance == (scores.ARI > 0.9) {
			t.Errorf("told of chance: %t, ARI %.2f, costs %g of %g", told, scores.ARI, result.Spectral.Eigen.Costs,
				result.Spectral.Eigen.Volume)
		}
	}
}
