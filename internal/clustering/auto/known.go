package auto

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/discriminant"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// knownWithout returns the rows whose class is known when a fold is held out, nil if there are fewer than two classes.
func (p *Problem) knownWithout(fold int) (*discriminant.Known, error) {
	if fold == heldout.None {
		return p.known, nil
	}
	return p.findKnown(fold)
}

// findKnown finds what knownWithout returns: seeds, and rows whose class follows from constraints. Seeds define
// classes. Without seeds, k must-link components that are pairwise apart do.
func (p *Problem) findKnown(fold int) (*discriminant.Known, error) {
	set, err := constraint.NewSet(p.n, p.shown(task{use: clustering.UseHard, fold: fold}), constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	classes := make(map[int32]int32) // of must-link components
	seeded := make(map[int32]heldout.Seed)
	if seeds := p.supervision.TrainingSeeds(fold); len(p.supervision.Seeds) > 0 {
		for _, seed := range seeds {
			classes[set.Components().Of(seed.Point)] = seed.Label
			seeded[seed.Point] = seed
		}
	} else {
		classes = classesOf(set, p.spec.K)
	}
	if p.supervision.Contradictions == 0 {
		completeClasses(set, classes, p.spec.K)
	}
	k := &discriminant.Known{}
	for i := range int32(p.n) {
		class, isKnown := classes[set.Components().Of(i)]
		if !isKnown {
			continue
		}
		certainty := 1.0
		if seed, isSeed := seeded[i]; isSeed {
			class, certainty = seed.Label, seed.Chance
		} else if p.supervision.Contradictions > 0 {
			continue // contradictory constraints imply nothing
		}
		k.Rows = append(k.Rows, i)
		k.Classes = append(k.Classes, class)
		k.Weights = append(k.Weights, certainty)
	}
	if countDistinct(k.Classes) < 2 {
		return nil, nil
	}
	return k, nil
}

func countDistinct(classes []int32) int {
	return len(slices.Compact(slices.Sorted(slices.Values(classes))))
}

// allClassesKnown reports whether each of the k clusters has a known row, as uses that start from known classes need.
func (p *Problem) allClassesKnown() bool {
	return p.known != nil && countDistinct(p.known.Classes) == p.spec.K
}

// classesOf finds and numbers k must-link components that are pairwise apart, trying large ones first. It returns an
// empty map if there are too few or if constraints contradict each other.
func classesOf(set *constraint.Set, k int) map[int32]int32 {
	components := set.Components()
	order := choose.All[int32](components.Count())
	slices.SortStableFunc(order, func(a, b int32) int {
		return len(components.Members(b)) - len(components.Members(a))
	})
	var chosen []int32
	for _, c := range order {
		if len(chosen) == k {
			break
		}
		if !slices.ContainsFunc(chosen, func(other int32) bool { return !set.Apart(c, other) }) {
			chosen = append(chosen, c)
		}
	}
	classes := make(map[int32]int32)
	if len(chosen) < k || set.CountConflicts() > 0 {
		return classes
	}
	for number, c := range chosen {
		classes[c] = int32(number)
	}
	return classes
}

// completeClasses adds components that are apart from all classes but one, to which they must belong.
func completeClasses(set *constraint.Set, classes map[int32]int32, k int) {
	apart := make(map[int32]map[int32]bool) // for each component, the classes it is apart from
	link := func(c, other int32) {
		if class, isKnown := classes[other]; isKnown {
			if apart[c] == nil {
				apart[c] = make(map[int32]bool)
			}
			apart[c][class] = true
		}
	}
	for changed := true; changed; {
		changed = false
		clear(apart)
		for _, p := range set.Pairs() {
			if a, b := set.Components().Of(p.I), set.Components().Of(p.J); p.Kind == constraint.CannotLink && a != b {
				link(a, b)
				link(b, a)
			}
		}
		for c := range apart { // in any order: what one of them adds counts from the next round on
			if _, isKnown := classes[c]; isKnown || len(apart[c]) != k-1 {
				continue
			}
			for class := range int32(k) {
				if !apart[c][class] {
					classes[c] = class
					changed = true
				}
			}
		}
	}
}

// numbersBySeeds returns new numbers for clusters that match the labels of seeds, matching the cluster and label that
// most seeds have in common first. Clusters without seeds get the remaining numbers.
func numbersBySeeds(k int, labels []int32, seeds []heldout.Seed) []int32 {
	common := make(map[[2]int32]int32) // seeds by cluster and label
	for _, s := range seeds {
		common[[2]int32{labels[s.Point], s.Label}]++
	}
	numbers := clustering.MatchGreedily(k, common)
	unused := slices.DeleteFunc(choose.All[int32](k), func(number int32) bool {
		return slices.Contains(numbers, number)
	})
	for cluster, number := range numbers {
		if number < 0 {
			numbers[cluster], unused = unused[0], unused[1:]
		}
	}
	return numbers
}

// renumber gives the clusters of a result new numbers.
func renumber(r *clustering.Result, numbers []int32) {
	r.Labels = slices.Clone(r.Labels)
	for i, c := range r.Labels {
		r.Labels[i] = numbers[c]
	}
	if r.Model == nil {
		return
	}
	model, d := *r.Model, r.Model.D
	model.Centroids = make([]float64, len(r.Model.Centroids))
	for c, number := range numbers {
		copy(model.Centroids[int(number)*d:], r.Model.Centroids[c*d:(c+1)*d])
	}
	if model.Mixture != nil {
		model.Mixture = model.Mixture.Renumbered(numbers)
	}
	r.Model = &model
}
