package local_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// known is data with true classes.
type known struct {
	data  dataset.Dataset
	truth []int32
	k     int
}

func found[D dataset.Dataset](t *testing.T, k int) func(D, []int32, error) known {
	t.Helper()
	return func(data D, truth []int32, err error) known {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return known{data, truth, k}
	}
}

// easySets are data whose classes anyone sees.
func easySets(t *testing.T) map[string]known {
	t.Helper()
	blobs := found[*dataset.Points](t, 10)(synth.Gaussians(250, 4, 10, 0.3, clusteringtest.NewRand(2)))
	few := found[*dataset.Points](t, 3)(synth.Gaussians(150, 3, 3, 0.5, clusteringtest.NewRand(1)))
	edges, truth, err := synth.Blocks(150, 3, 14, 1, clusteringtest.NewRand(1))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(150, edges)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]known{
		"circles":   found[*dataset.Points](t, 2)(synth.TwoCircles(200, 0.02, clusteringtest.NewRand(1))),
		"moons":     found[*dataset.Points](t, 2)(synth.TwoMoons(200, 0.05, clusteringtest.NewRand(1))),
		"gaussians": blobs,
		"blocks":    {graph, truth, 3},
		"sparse":    topics(t, 150, 3),
		"kernel":    {linearKernel(t, few.data.(*dataset.Points)), few.truth, 3},
	}
}

// topics are counts of words, of which every topic has its own.
func topics(t *testing.T, n, k int) known {
	t.Helper()
	rng := clusteringtest.NewRand(3)
	starts := []int64{0}
	truth := make([]int32, n)
	var columns []int32
	var values []float64
	for i := range n {
		truth[i] = int32(i % k)
		for word := range int32(20 * k) {
			if word%int32(k) == truth[i] && rng.IntN(3) > 0 || rng.IntN(20) == 0 {
				columns = append(columns, word)
				values = append(values, float64(1+rng.IntN(3)))
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	data, err := dataset.NewSparsePoints(n, 20*k, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return known{data, truth, k}
}

func linearKernel(t *testing.T, points *dataset.Points) *dataset.Kernel {
	t.Helper()
	values := make([]float64, 0, points.N*points.N)
	for i := range points.N {
		for j := range points.N {
			sum := 0.0
			for f, v := range points.Row(i) {
				sum += float64(v * points.Row(j)[f])
			}
			values = append(values, sum)
		}
	}
	kernel, err := dataset.NewKernel(points.N, points.N, values)
	if err != nil {
		t.Fatal(err)
	}
	return kernel
}

// pairsOf draws constraints by the truth, of which one in wrongIn is turned round; 0: none.
func pairsOf(t *testing.T, truth []int32, count, wrongIn int, rng *rand.Rand) []constraint.Constraint {
	t.Helper()
	pairs, err := synth.Constraints(truth, count, rng)
	if err != nil {
		t.Fatal(err)
	}
	for at := range pairs {
		if wrongIn > 0 && at%wrongIn == 0 {
			pairs[at].Kind = constraint.MustLink + constraint.CannotLink - pairs[at].Kind
		}
	}
	return pairs
}

func solveAuto(t *testing.T, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	spec.Algorithm = &auto.Options{}
	spec.MaxIterations = cmp.Or(spec.MaxIterations, clustering.DefaultMaxIterations)
	result, err := local.Solve(t.Context(), data, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func ari(t *testing.T, labels, truth []int32) float64 {
	t.Helper()
	scores, err := evaluate.Compare(labels, truth, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scores.ARI
}

// What anyone sees is found without constraints; correct ones do not make it worse, and wrong ones hardly.
func TestAutoOnEasySets(t *testing.T) {
	sets := easySets(t)
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(sets)), 2) {
		set := sets[name]
		alone := solveAuto(t, set.data, clustering.Spec{K: set.k})
		score := ari(t, alone.Labels, set.truth)
		if score < 1 {
			t.Errorf("%s: the score is %.3f without constraints, by %+v", name, score, alone.Auto.Choice)
		}
		for _, count := range testscale.Some([]int{60, 1, 20}, 1) {
			with := solveAuto(t, set.data, clustering.Spec{
				K: set.k,
				Supervision: clustering.Supervision{Constraints: pairsOf(t, set.truth, count, 0,
					clusteringtest.NewRand(5))},
			})
			if got := ari(t, with.Labels, set.truth); got < score-1e-9 {
				t.Errorf("%s: the score is %.3f with %d constraints, and %.3f without; by %+v", name, got, count, score,
					with.Auto.Choice)
			}
			if count >= heldout.EnoughPairs &&
				(with.Auto.Choice.Chosen != alone.Auto.Choice.Chosen || len(with.Auto.Choice.Tried) != 1) {
				t.Errorf("%s: the answer without constraints satisfies all of them, but methods were compared: %+v",
					name, with.Auto.Choice)
			}
		}
		const many = 150
		doubtful := solveAuto(t, set.data, clustering.Spec{
			K: set.k,
			Supervision: clustering.Supervision{Constraints: pairsOf(t, set.truth, many, 10,
				clusteringtest.NewRand(6))},
		})
		if got := ari(t, doubtful.Labels, set.truth); got < score-0.02 {
			t.Errorf("%s: the score is %.3f with %d constraints of which one in ten is wrong, and %.3f without; by %+v",
				name, got, many, score, doubtful.Auto.Choice)
		}
	}
}

// Many groups have many eigenvectors, which filters find.
func TestAutoFindsManyGroups(t *testing.T) {
	const k, each = 12, 100
	rng := clusteringtest.NewRand(3)
	values := make([]float64, 0, 2*k*each)
	truth := make([]int32, 0, k*each)
	for i := range k * each {
		c := i % k
		angle := 2 * math.Pi * rng.Float64()
		values = append(values, float64(4*(c%4))+math.Cos(angle)+0.05*rng.NormFloat64(),
			float64(4*(c/4))+math.Sin(angle)+0.05*rng.NormFloat64())
		truth = append(truth, int32(c))
	}
	points, err := dataset.NewPoints(k*each, 2, values)
	if err != nil {
		t.Fatal(err)
	}
	result := solveAuto(t, points, clustering.Spec{K: k})
	if got := ari(t, result.Labels, truth); got != 1 {
		t.Errorf("the score is %.3f, by %+v", got, result.Auto.Choice)
	}
}

// With two clusters, cannot-links alone tell which points are together.
func TestAutoTwoClustersFollowCannotLinks(t *testing.T) {
	rng := clusteringtest.NewRand(1)
	truth := clusteringtest.RandomLabels(rng, 60, 2)
	values := make([]float64, 60)
	for i := range values {
		values[i] = rng.Float64() // says nothing about the classes
	}
	points, err := dataset.NewPoints(60, 1, values)
	if err != nil {
		t.Fatal(err)
	}
	zero := int32(slices.Index(truth, 0))
	one := int32(slices.Index(truth, 1))
	var constraints []constraint.Constraint
	for i, c := range truth {
		if c == 0 {
			constraints = append(constraints, clusteringtest.CannotLink(int32(i), one))
		} else if int32(i) != one {
			constraints = append(constraints, clusteringtest.CannotLink(int32(i), zero))
		}
	}
	result := solveAuto(t, points, clustering.Spec{K: 2, Supervision: clustering.Supervision{Constraints: constraints}})
	if got := ari(t, result.Labels, truth); got != 1 || result.Satisfaction.Satisfied() != len(constraints) {
		t.Errorf("the score is %g, %+v, by %+v", got, result.Satisfaction, result.Auto.Choice)
	}
}

// As many constraints as there are pairs leave no doubt, whatever the data is like.
func TestAutoWithAllPairs(t *testing.T) {
	for _, k := range []int{2, 4} {
		rng := clusteringtest.NewRand(uint64(k))
		truth := clusteringtest.RandomLabels(rng, 30, k)
		points := clusteringtest.Blobs(t, rng, 30, 2, 3)
		edges := scatteredEdges(rng, 30)
		for name, data := range map[string]dataset.Dataset{"points": points, "a graph": graphOf(t, 30, edges, 0),
			"a kernel": linearKernel(t, points)} {
			result := solveAuto(t, data, clustering.Spec{
				K: k, Supervision: clustering.Supervision{Constraints: pairsOf(t, truth, 30*29/2, 0, rng)},
			})
			if got := ari(t, result.Labels, truth); got != 1 {
				t.Errorf("k = %d, %s: the score is %g, by %+v", k, name, got, result.Auto.Choice)
			}
		}
	}
}

// Constraints of one kind enter firmly, and so do the few seeds of which no fold has two.
func TestAutoTakesWhatItCannotCompare(t *testing.T) {
	moons := found[*dataset.Points](t, 2)(synth.TwoMoons(200, 0.05, clusteringtest.NewRand(1)))
	chain := func(step int32) (links []constraint.Constraint) {
		for i := int32(0); i+step < 200; i += 2 * step {
			links = append(links, clusteringtest.MustLink(i, i+step))
		}
		return links
	}
	for name, spec := range map[string]clustering.Spec{
		"must-links": {K: 2, Supervision: clustering.Supervision{Constraints: chain(1)}},
		"cannot-links": {
			K: 3,
			Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
				clusteringtest.CannotLink(0, 2), clusteringtest.CannotLink(2, 4), clusteringtest.CannotLink(0, 4),
			}},
		},
		"two seeds": {K: 2,
			Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0, Label: 0}, {Index: 2, Label: 1}}}},
		"three seeds": {K: 3,
			Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0, Label: 0}, {Index: 2, Label: 1},
				{Index: 4, Label: 2}}}},
		"one class": {K: 2,
			Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0, Label: 1}, {Index: 1, Label: 1},
				{Index: 2, Label: 1}, {Index: 3, Label: 1}}}},
	} {
		result := solveAuto(t, moons.data, spec)
		if result.Auto.Choice.Chosen.ConstraintUse != clustering.UseHard ||
			result.Satisfaction.Satisfied() != result.Satisfaction.Total {
			t.Errorf("%s: %+v, %+v", name, result.Auto.Choice, result.Satisfaction)
		}
		for _, a := range spec.Supervision.Seeds {
			for _, b := range spec.Supervision.Seeds {
				if (a.Label == b.Label) != (result.Labels[a.Index] == result.Labels[b.Index]) {
					t.Errorf("%s: %d and %d are in the clusters %d and %d", name, a.Index, b.Index,
						result.Labels[a.Index], result.Labels[b.Index])
				}
			}
		}
	}
}

// The labels of seeds are the numbers of clusters, and centroids have the same numbers.
func TestAutoNumbersClustersBySeeds(t *testing.T) {
	for name, set := range map[string]known{
		"moons":     found[*dataset.Points](t, 2)(synth.TwoMoons(200, 0.05, clusteringtest.NewRand(1))),
		"gaussians": found[*dataset.Points](t, 3)(synth.Gaussians(150, 3, 3, 0.5, clusteringtest.NewRand(1))),
	} {
		spec := clustering.Spec{K: set.k}
		for i := range int32(3 * set.k) {
			spec.Supervision.Seeds = append(spec.Supervision.Seeds, constraint.Seed{Index: i, Label: set.truth[i]})
		}
		result := solveAuto(t, set.data, spec)
		if !slices.Equal(result.Labels, set.truth) {
			t.Errorf("%s: the labels are not those of the seeds", name)
		}
		if (result.Model != nil) != (name == "gaussians") {
			t.Errorf("%s: the way is %+v", name, result.Auto.Choice)
		} else if result.Model != nil {
			again, err := predict.ByModel(t.Context(), result.Model, set.data, 1)
			if err != nil || !slices.Equal(again.Labels, result.Labels) {
				t.Errorf("%s: by the model labels are others, %v", name, err)
			}
		}
	}
}

// A seed with the label of other seeds is named, and none that is right.
func TestAutoNamesWrongSeeds(t *testing.T) {
	set := found[*dataset.Points](t, 3)(synth.Gaussians(150, 3, 3, 0.5, clusteringtest.NewRand(1)))
	spec := clustering.Spec{K: 3}
	for i := range int32(30) {
		spec.Supervision.Seeds = append(spec.Supervision.Seeds, constraint.Seed{Index: i, Label: set.truth[i]})
	}
	const code = "SEEDS_AGAINST_DATA"
	if got := warning(solveAuto(t, set.data, spec), code); got != "" {
		t.Errorf("of seeds that are right: %s", got)
	}
	spec.Supervision.Seeds[7].Label = (set.truth[7] + 1) % 3
	if got := warning(solveAuto(t, set.data, spec), code); !strings.Contains(got,
		"held out: 7 (1 of 30); their labels are wrong") {
		t.Errorf("the wrong one is not named: %s", got)
	}
}

// Constraints that contradict each other are not taken for certain, and the job says so.
func TestAutoWithContradictions(t *testing.T) {
	set := easySets(t)["gaussians"]
	constraints := pairsOf(t, set.truth, 100, 0, clusteringtest.NewRand(1))
	constraints = append(constraints, clusteringtest.MustLink(0, 10), clusteringtest.MustLink(10, 20),
		clusteringtest.CannotLink(0, 20))
	result := solveAuto(t, set.data, clustering.Spec{
		K: set.k, Supervision: clustering.Supervision{Constraints: constraints},
	})
	hears := func(code string) bool {
		return slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool { return n.Code == code })
	}
	if use := result.Auto.Choice.Chosen.ConstraintUse; use == clustering.UseHard || use == clustering.UseMetric ||
		!hears("CONFLICTING_CONSTRAINTS") {
		t.Errorf("%+v, notices %v", result.Auto.Choice, result.Warnings)
	}
	if got := ari(t, result.Labels, set.truth); got != 1 {
		t.Errorf("the score is %g", got)
	}
	if !hears("CONSTRAINTS_AGAINST_DATA") || !strings.Contains(warning(result, "CONSTRAINTS_AGAINST_DATA"),
		"0-20 (cannot)") {
		t.Errorf("the wrong one is not named: %v", result.Warnings)
	}
}

func warning(r *clustering.Result, code string) string {
	for _, n := range r.Warnings {
		if n.Code == code {
			return n.Message
		}
	}
	return ""
}

// The order of points does not matter where none are alike, nor that of constraints, nor from which side they are
// given.
func TestAutoUnderPermutation(t *testing.T) {
	for name, set := range easySets(t) {
		if name != "moons" && name != "blocks" {
			continue
		}
		rng := clusteringtest.NewRand(9)
		constraints := pairsOf(t, set.truth, 60, 0, rng)
		spec := clustering.Spec{K: set.k, Supervision: clustering.Supervision{Constraints: constraints}}
		result := solveAuto(t, set.data, spec)
		spec.Supervision.Constraints = slices.Clone(constraints)
		rng.Shuffle(len(constraints), func(i, j int) {
			spec.Supervision.Constraints[i], spec.Supervision.Constraints[j] = spec.Supervision.Constraints[j],
				spec.Supervision.Constraints[i]
		})
		for at, c := range spec.Supervision.Constraints {
			if at%2 == 0 {
				spec.Supervision.Constraints[at].I, spec.Supervision.Constraints[at].J = c.J, c.I
			}
		}
		again := solveAuto(t, set.data, spec)
		if !slices.Equal(again.Labels, result.Labels) || again.Objective != result.Objective ||
			again.Auto.Choice.Reason.String() != result.Auto.Choice.Reason.String() {
			t.Errorf("%s: constraints in another order have another answer", name)
		}
		order := rng.Perm(len(set.truth))
		place := make([]int32, len(order))
		for at, i := range order {
			place[i] = int32(at)
		}
		for at, c := range constraints {
			spec.Supervision.Constraints[at] = constraint.Constraint{I: place[c.I], J: place[c.J], Kind: c.Kind}
		}
		moved := solveAuto(t, permuted(t, set.data, order, place), spec)
		back := make([]int32, len(order))
		for i := range back {
			back[i] = moved.Labels[place[i]]
		}
		if got := ari(t, back, result.Labels); got != 1 {
			t.Errorf("%s: points in another order have another answer, score %g", name, got)
		}
	}
}

func permuted(t *testing.T, data dataset.Dataset, order []int, place []int32) dataset.Dataset {
	t.Helper()
	switch data := data.(type) {
	case *dataset.Points:
		values := make([]float64, 0, len(data.Values))
		for _, i := range order {
			values = append(values, data.Row(i)...)
		}
		points, err := dataset.NewPoints(data.N, data.D, values)
		if err != nil {
			t.Fatal(err)
		}
		return points
	case *dataset.Graph:
		var edges []dataset.Edge
		for i := range data.N {
			neighbors, weights := data.Row(i)
			for at, j := range neighbors {
				if int(j) >= i {
					edges = append(edges, dataset.Edge{Source: place[i], Target: place[j], Weight: weights[at]})
				}
			}
		}
		return graphOf(t, data.N, edges, 0)
	}
	t.Fatalf("no order of %T", data)
	return nil
}

// Standardized columns do not depend on their units: powers of two change no bit.
func TestAutoInOtherUnits(t *testing.T) {
	set := easySets(t)["moons"]
	points := set.data.(*dataset.Points)
	values := slices.Clone(points.Values)
	for i := range values {
		values[i] = math.Ldexp(values[i], []int{30, -4}[i%points.D])
	}
	scaled, err := dataset.NewPoints(points.N, points.D, values)
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{
		K: set.k, Scale: clustering.ScaleZscore,
		Supervision: clustering.Supervision{Constraints: pairsOf(t, set.truth, 100, 0, clusteringtest.NewRand(1))},
	}
	one := solveAuto(t, points, spec)
	other := solveAuto(t, scaled, spec)
	if !slices.Equal(one.Labels, other.Labels) || one.Objective != other.Objective ||
		one.Auto.Choice.Reason.String() != other.Auto.Choice.Reason.String() {
		t.Errorf("objectives %v and %v, %+v and %+v", one.Objective, other.Objective, one.Auto.Choice,
			other.Auto.Choice)
	}
}

// The options of a run that go with auto do something.
func TestAutoHearsItsOptions(t *testing.T) {
	set := found[*dataset.Points](t, 8)(synth.Gaussians(400, 4, 8, 6, clusteringtest.NewRand(1)))
	all := solveAuto(t, set.data, clustering.Spec{K: 8})
	if one := solveAuto(t, set.data, clustering.Spec{K: 8, MaxIterations: 1}); one.Iterations != 1 ||
		all.Iterations < 3 {
		t.Errorf("%d iterations instead of one, %d by default", one.Iterations, all.Iterations)
	}
	if first := solveAuto(t, set.data, clustering.Spec{K: 8, Restarts: 1}); first.Restart != 0 ||
		first.Objective < all.Objective {
		t.Errorf("start %d of one: %g, where several have %g", first.Restart, first.Objective, all.Objective)
	}
	if entailed := solveAuto(t, set.data, clustering.Spec{
		K: 8, Supervision: clustering.Supervision{Entail: true},
	}); !slices.Equal(entailed.Labels, all.Labels) {
		t.Error("entailment, which it always has, changes the answer")
	}
}
