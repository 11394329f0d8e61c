package constraint

import (
	"math"
	"math/rand/v2"
	"testing"
)

// However many of the implied pairs are listed, the must-links of a component weigh as much for all its points
// together, and if all are listed as much for each as one link.
func TestEvenedDoesNotDependOnWhatIsListed(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n, groups := 40, 12
		var given []Constraint
		listedOnce := map[[2]int]bool{}
		for range 60 {
			i := rng.IntN(n)
			j := rng.IntN(n)
			pair := [2]int{min(i, j), max(i, j)}
			switch {
			case i == j || listedOnce[pair]:
				continue
			case i%groups == j%groups:
				given = append(given, must(int32(i), int32(j)))
			default:
				given = append(given, cannot(int32(i), int32(j)))
			}
			listedOnce[pair] = true
		}
		set, err := NewSet(n, given, UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		all, err := set.Entail(UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		components := set.Components()
		total := func(s *Set) []float64 { // of the must-links of each component
			sums := make([]float64, components.Count())
			for _, p := range s.WithBalancedWeights().Pairs() {
				if p.Kind == MustLink {
					sums[components.Of(p.I)] += p.Weight
				}
			}
			return sums
		}
		listed := total(set)
		entailed := total(all)
		for c := range listed {
			if math.Abs(listed[c]-entailed[c]) > 1e-12 {
				t.Errorf("seed %d: component %d weighs %v as it is given and %v entailed", seed, c,
					listed[c], entailed[c])
			}
		}
		row := make([]float64, n)
		for _, p := range all.WithBalancedWeights().Pairs() {
			if p.Kind == MustLink {
				row[p.I] += p.Weight
				row[p.J] += p.Weight
			} else if p.Weight > 1 {
				t.Errorf("seed %d: the cannot-link %d-%d weighs %v", seed, p.I, p.J, p.Weight)
			}
		}
		for i, weight := range row {
			if linked := len(components.Members(components.Of(int32(i)))) > 1; linked && math.Abs(weight-1) > 1e-12 ||
				!linked && weight != 0 {
				t.Errorf("seed %d: the must-links of point %d weigh %v", seed, i, weight)
			}
		}
	}
}

func TestEntailSmall(t *testing.T) {
	set := newSet(t, 6, must(0, 1), must(1, 2), cannot(2, 3)) // implies 3 must-links and 3 cannot-links
	large, err := set.EntailSmall(6, UnitWeight)
	if err != nil || large != set {
		t.Errorf("6 pairs with a limit of 6 become %v, %v", large.Pairs(), err)
	}
	small, err := set.EntailSmall(7, UnitWeight)
	if err != nil || small.Len() != 6 {
		t.Fatalf("6 pairs with a limit of 7 become %v, %v", small.Pairs(), err)
	}
	labels := []int32{0, 1, 0, 0, 1, 1}
	if got, want := small.Satisfaction(labels), set.Satisfaction(labels); got != want || want.Total != 3 {
		t.Errorf("of the given constraints %+v hold, not %+v", want, got)
	}
}
