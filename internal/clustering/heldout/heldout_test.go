package heldout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func supervise(t *testing.T, n, k, folds int, constraints []constraint.Constraint,
	seeds []constraint.Seed) *Supervision {
	t.Helper()
	set, err := constraint.NewSet(n, constraints, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	return New(set, seeds, k, folds, clusteringtest.NewRand(1))
}

// A constraint is held out in one fold, and shown in all others; folds are of about the same size.
func TestFoldsOfConstraints(t *testing.T) {
	const n, k, folds = 40, 3, 3
	constraints := clusteringtest.RandomConstraints(clusteringtest.NewRand(1), n, k, 100)
	for _, c := range constraints[:30] { // given again from the other side
		constraints = append(constraints, constraint.Constraint{I: c.J, J: c.I, Kind: c.Kind})
	}
	s := supervise(t, n, k, folds, constraints, nil)
	set, err := constraint.NewSet(n, constraints, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	if all := s.TrainingConstraints(None); len(all) != set.Len() || len(s.Pairs) != set.Len() {
		t.Fatalf("%d are shown and %d held out of %d", len(all), len(s.Pairs), set.Len())
	}
	for fold := range folds {
		shown := s.TrainingConstraints(fold)
		sizes := 0
		for _, pair := range s.Pairs {
			is := func(c constraint.Constraint) bool {
				return c.I == pair.I && c.J == pair.J && (c.Kind == constraint.MustLink) == pair.Must
			}
			if slices.ContainsFunc(shown, is) == (pair.Fold == fold) {
				t.Errorf("fold %d: %+v is held out and shown, or neither", fold, pair)
			}
			if pair.Fold == fold {
				sizes++
			}
		}
		if least := set.Len() / folds; sizes < least || sizes > least+1 {
			t.Errorf("fold %d of %d has %d", fold, set.Len(), sizes)
		}
	}
	for _, c := range s.TrainingConstraints(None) {
		if !c.Weighted || c.Weight < 1 {
			t.Errorf("%+v has no weight", c)
		}
	}
	must, cannot := s.CountPairs()
	if must+cannot != set.Len() || must == 0 || cannot == 0 {
		t.Errorf("%d must-links and %d cannot-links of %d", must, cannot, set.Len())
	}
}

// Pairs that are listed twice, or from both sides, say nothing about how right they are.
func TestListingTwiceIsNoEvidence(t *testing.T) {
	var constraints []constraint.Constraint
	for i := range int32(40) {
		c := clusteringtest.MustLink(2*i, 2*i+1)
		constraints = append(constraints, c, c, constraint.Constraint{I: c.J, J: c.I, Kind: c.Kind})
	}
	if s := supervise(t, 80, 3, 3, constraints, nil); s.Checked != 0 || s.Contradictions != 0 {
		t.Errorf("%d checked, %d contradict", s.Checked, s.Contradictions)
	}
	constraints = append(constraints, clusteringtest.MustLink(1, 2), clusteringtest.MustLink(0, 3),
		clusteringtest.CannotLink(1, 3))
	if s := supervise(t, 80, 3, 3, constraints, nil); s.Checked != 2 || s.Contradictions != 1 {
		t.Errorf("%d checked, %d contradict; want 2 and 1", s.Checked, s.Contradictions)
	}
}

func someSeeds(rng *rand.Rand, n, k, count int) (seeds []constraint.Seed, truth []int32) {
	truth = clusteringtest.RandomLabels(rng, n, k)
	for _, i := range rng.Perm(n)[:count] {
		seeds = append(seeds, constraint.Seed{Index: int32(i), Label: truth[i]})
	}
	return seeds, truth
}

// Of seeds a fold holds out points: no shown pair has one of them, and the shown pairs imply all pairs of the other
// seeds.
func TestFoldsOfSeeds(t *testing.T) {
	for seed := range uint64(50) {
		rng := clusteringtest.NewRand(seed)
		n := 10 + rng.IntN(40)
		k := 1 + rng.IntN(5)
		seeds, truth := someSeeds(rng, n, k, 1+rng.IntN(n))
		s := supervise(t, n, k, 3, nil, seeds)
		foldOf, pairs := map[int32]int{}, map[[2]int32]bool{}
		for _, given := range s.Seeds {
			foldOf[given.Point] = given.fold
		}
		if len(foldOf) != len(seeds) {
			t.Fatalf("seed %d: %d seeds of %d", seed, len(foldOf), len(seeds))
		}
		for _, pair := range s.Pairs {
			key := [2]int32{pair.I, pair.J}
			if _, seeded := foldOf[pair.J]; pair.I == pair.J || pairs[key] || foldOf[pair.I] != pair.Fold || !seeded ||
				pair.Must != (truth[pair.I] == truth[pair.J]) {
				t.Errorf("seed %d: %+v, with points of the folds %d and %d", seed, pair, foldOf[pair.I], foldOf[pair.J])
			}
			pairs[key] = true
		}
		if want := len(seeds) * (len(seeds) - 1); len(s.Pairs) != want {
			t.Errorf("seed %d: %d pairs, want those of every seed with all others, %d", seed, len(s.Pairs), want)
		}
		for without := None; without < 3; without++ {
			set, err := constraint.NewSet(n, s.TrainingConstraints(without), constraint.UnitWeight)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range foldOf {
				for j, b := range foldOf {
					of := set.Components().Of(i)
					other := set.Components().Of(j)
					switch {
					case a == without:
						if len(set.Components().Members(of)) > 1 ||
							slices.ContainsFunc(set.Pairs(), func(p constraint.Pair) bool {
								return p.I == i || p.J == i
							}) {
							t.Errorf("seed %d: point %d of fold %d is shown", seed, i, a)
						}
					case b == without || i == j:
					case truth[i] == truth[j] && of != other, truth[i] != truth[j] && !set.Apart(of, other):
						t.Errorf("seed %d without fold %d: nothing is implied of %d and %d", seed, without, i, j)
					}
				}
			}
		}
		if s.Checked != 0 || s.Contradictions != 0 {
			t.Errorf("seed %d: seeds vouch for each other: %d, %d", seed, s.Checked, s.Contradictions)
		}
	}
}

// A seed with probabilities counts as its most likely label, as much as that is likely.
func TestUncertainSeeds(t *testing.T) {
	s := supervise(t, 10, 3, 3, nil, []constraint.Seed{
		{Index: 4, Label: 0, Probability: 0.2}, {Index: 4, Label: 2, Probability: 0.6}, {Index: 7, Label: 2},
		{Index: 1, Label: 1, Probability: 0.5}, {Index: 1, Label: 0, Probability: 0.5},
	})
	want := []constraint.Constraint{
		{I: 1, J: 4, Kind: constraint.CannotLink, Weight: 0.75, Weighted: true},
		{I: 1, J: 7, Kind: constraint.CannotLink, Weight: 1, Weighted: true},
		{I: 4, J: 7, Kind: constraint.MustLink, Weight: 1, Weighted: true},
	}
	got := s.TrainingConstraints(None)
	for at := range got {
		got[at].Weight = float64(int(got[at].Weight*1e6+0.5)) / 1e6
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Pairs of many seeds are bounded, and every seed is in some.
func TestManySeeds(t *testing.T) {
	const n = 30_000
	seeds, _ := someSeeds(clusteringtest.NewRand(1), n, 4, n)
	s := supervise(t, n, 4, 3, nil, seeds)
	if len(s.Pairs) < n || len(s.Pairs) > 2*n {
		t.Errorf("%d pairs of %d seeds", len(s.Pairs), n)
	}
	met := map[int32]bool{}
	for _, pair := range s.Pairs {
		met[pair.I], met[pair.J] = true, true
	}
	if len(met) != n {
		t.Errorf("%d of %d seeds are compared", len(met), n)
	}
}

// The first folds have their own pairs and constraints, in the same order.
func TestFirstFolds(t *testing.T) {
	const n, k, folds = 60, 3, 3
	seeds, _ := someSeeds(clusteringtest.NewRand(3), n, k, 20)
	s := supervise(t, n, k, folds, clusteringtest.RandomConstraints(clusteringtest.NewRand(1), n, k, 80), seeds)
	for first := range folds + 1 {
		some, places := s.FirstFolds(first)
		var pairs []Pair
		for at, pair := range s.Pairs {
			if pair.Fold < first {
				pairs = append(pairs, pair)
			} else if slices.Contains(places, at) {
				t.Errorf("pair %d of fold %d is among the first %d folds", at, pair.Fold, first)
			}
		}
		if !slices.Equal(some.Pairs, pairs) || len(places) != len(pairs) {
			t.Errorf("%d of %d pairs of the first %d folds", len(some.Pairs), len(pairs), first)
		}
		for at, c := range some.Constraints {
			if pair := some.Pairs[at]; pair.I != c.I || pair.J != c.J {
				t.Errorf("constraint %d is %+v, its pair %+v", at, c, pair)
			}
		}
	}
	if all, _ := s.FirstFolds(folds); len(all.Constraints) != len(s.Constraints) {
		t.Errorf("%d of %d constraints", len(all.Constraints), len(s.Constraints))
	}
}
