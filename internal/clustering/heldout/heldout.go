// Package heldout divides the supervision of a job into folds and compares answers by held-out pairs. A fold holds out
// constraints and seeds.
package heldout

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// EnoughPairs is the number of held-out pairs from which answers are compared by folds.
const EnoughPairs = 50

// None is passed in place of a fold if nothing is held out.
const None = -1

// Supervision holds the constraints and seeds of a job, divided into folds, and the pairs by which answers are
// compared.
type Supervision struct {
	Constraints []constraint.Constraint // distinct
	Seeds       []Seed
	Pairs       []Pair
	// Number of constraints that follow from others, and number that contradict others.
	Checked, Contradictions int

	fold []int // of each constraint
}

// Seed is a point with its most likely label.
type Seed struct {
	Point, Label int32
	Chance       float64 // the probability of the label
	fold         int
}

// Pair is a held-out pair. For pairs of seeds, I is held out and J is any other seed.
type Pair struct {
	I, J int32
	Must bool
	Fold int
}

// maxSeedPairs limits the pairs of seeds in each fold, which grow with the square of the number of seeds.
const maxSeedPairs = 3000

// New divides supervision randomly into folds of about equal size. A pair that is given twice counts as one constraint,
// so that it is in one fold and does not confirm itself.
func New(set *constraint.Set, seeds []constraint.Seed, k, folds int, rng *rand.Rand) *Supervision {
	s := &Supervision{fold: make([]int, set.Len())}
	for _, p := range set.Pairs() {
		s.Constraints = append(s.Constraints, p.Constraint())
	}
	for i, place := range rng.Perm(len(s.Constraints)) {
		s.fold[place] = i % folds
	}
	gathered := constraint.GatherSeeds(seeds)
	s.Seeds = make([]Seed, len(gathered))
	for i, place := range rng.Perm(len(gathered)) {
		given := gathered[place]
		best := choose.Largest(given.Chances)
		s.Seeds[place] = Seed{given.Point, given.Labels[best], given.Chances[best], i % folds}
	}
	for i, c := range s.Constraints {
		s.Pairs = append(s.Pairs, Pair{c.I, c.J, c.Kind == constraint.MustLink, s.fold[i]})
	}
	for fold := range folds {
		s.holdOutSeeds(fold)
	}
	// Seeds are consistent by construction, so they do not count as checks.
	s.Checked, _ = constraint.Checks(set.Points(), k, s.Constraints)
	_, s.Contradictions = constraint.Checks(set.Points(), k, s.TrainingConstraints(None))
	return s
}

// holdOutSeeds adds the pairs of each seed of a fold with all other seeds or, if they are too many, with some that are
// evenly spaced.
func (s *Supervision) holdOutSeeds(fold int) {
	var own []int
	for at, given := range s.Seeds {
		if given.fold == fold {
			own = append(own, at)
		}
	}
	others := len(s.Seeds) - 1
	for _, at := range own {
		partners := min(others, max(1, maxSeedPairs/len(own)))
		for number := range partners {
			a := s.Seeds[at]
			b := s.Seeds[(at+1+number*others/partners)%len(s.Seeds)]
			s.Pairs = append(s.Pairs, Pair{a.Point, b.Point, a.Label == b.Label, fold})
		}
	}
}

// TrainingSeeds returns the seeds outside a fold.
func (s *Supervision) TrainingSeeds(without int) []Seed {
	return slices.DeleteFunc(slices.Clone(s.Seeds), func(given Seed) bool { return given.fold == without })
}

// TrainingConstraints returns the constraints outside a fold. Each seed becomes a must-link with the previous seed of
// the same label and a cannot-link with the last seed of every other label, which imply all other pairs.
func (s *Supervision) TrainingConstraints(without int) []constraint.Constraint {
	var shown []constraint.Constraint
	for i, c := range s.Constraints {
		if s.fold[i] != without {
			shown = append(shown, c)
		}
	}
	last := map[int32]int32{} // the last point of each label
	var labels []int32        // those seen so far
	for _, given := range s.Seeds {
		if given.fold == without {
			continue
		}
		for _, label := range labels {
			kind := constraint.CannotLink
			if label == given.Label {
				kind = constraint.MustLink
			}
			shown = append(shown, constraint.Constraint{
				I: last[label], J: given.Point, Kind: kind, Weight: given.Chance, Weighted: true,
			})
		}
		if _, known := last[given.Label]; !known {
			labels = append(labels, given.Label)
		}
		last[given.Label] = given.Point
	}
	return shown
}

// Spec returns a spec without the supervision of a fold. The rest is unchanged, so that every algorithm can use it in
// its own way.
func (s *Supervision) Spec(spec clustering.Spec, without int) clustering.Spec {
	heldOut := map[Pair]bool{}
	for i, c := range s.Constraints {
		if s.fold[i] == without {
			heldOut[Pair{I: c.I, J: c.J, Must: c.Kind == constraint.MustLink}] = true
		}
	}
	points := map[int32]bool{}
	for _, given := range s.Seeds {
		if given.fold == without {
			points[given.Point] = true
		}
	}
	constraints := slices.Clone(spec.Supervision.Constraints)
	spec.Supervision.Constraints = slices.DeleteFunc(constraints, func(c constraint.Constraint) bool {
		return heldOut[Pair{I: min(c.I, c.J), J: max(c.I, c.J), Must: c.Kind == constraint.MustLink}]
	})
	seeds := slices.Clone(spec.Supervision.Seeds)
	spec.Supervision.Seeds = slices.DeleteFunc(seeds, func(given constraint.Seed) bool { return points[given.Index] })
	return spec
}

// FirstFolds returns the supervision restricted to the pairs of the first folds, and their indices among all pairs.
func (s *Supervision) FirstFolds(folds int) (*Supervision, []int) {
	first := *s
	first.Pairs = nil
	var places []int
	for i, pair := range s.Pairs {
		if pair.Fold >= folds {
			continue
		}
		first.Pairs = append(first.Pairs, pair)
		places = append(places, i)
	}
	first.Constraints, first.fold = nil, nil
	for i, c := range s.Constraints {
		if s.fold[i] < folds {
			first.Constraints = append(first.Constraints, c)
			first.fold = append(first.fold, s.fold[i])
		}
	}
	return &first, places
}

// CountPairs counts the held-out pairs of each kind.
func (s *Supervision) CountPairs() (must, cannot int) {
	for _, pair := range s.Pairs {
		if pair.Must {
			must++
		} else {
			cannot++
		}
	}
	return must, cannot
}

// Correct reports for every held-out pair whether labels have it right. There is one labeling per fold, or one for
// all.
func (s *Supervision) Correct(labels ...[]int32) []bool {
	correct := make([]bool, len(s.Pairs))
	for i, pair := range s.Pairs {
		l := labels[pair.Fold%len(labels)]
		correct[i] = (l[pair.I] == l[pair.J]) == pair.Must
	}
	return correct
}

// Trial counts the pairs of a fold, or of all folds if fold is None, that a method has right.
func (s *Supervision) Trial(m clustering.Method, correct []bool, folds, fold int) clustering.Trial {
	t := clustering.Trial{Method: m, Folds: folds}
	for i, pair := range s.Pairs {
		count, good := &t.CannotLinks, &t.CannotLinksRight
		if pair.Must {
			count, good = &t.MustLinks, &t.MustLinksRight
		}
		if fold == None || pair.Fold == fold {
			*count++
			if correct[i] {
				*good++
			}
		}
	}
	if fold != None {
		t.Fold = fold + 1
	}
	return t
}

// StrayMustLinks counts must-links between clusters that no other must-link joins, and the constraints they are among.
// Their share estimates the share of wrong constraints.
//
// Labels are those of an answer that has not seen the constraints. If it confuses two clusters, correct must-links join
// them again and again. Wrong must-links join clusters at random, also those that are well separated. So for each fold,
// the pairs of clusters are ordered by their share of must-links in the other folds, and the first that have half of
// the constraints between clusters there are taken as well separated. The must-links of the fold between these are
// stray.
func (s *Supervision) StrayMustLinks(labels []int32) (stray, among int) {
	folds := 0
	for _, fold := range s.fold {
		folds = max(folds, fold+1)
	}
	for fold := range folds {
		separated := s.separatedWithout(fold, labels)
		for i, c := range s.Constraints {
			if s.fold[i] == fold && separated[clustersOf(c, labels)] {
				among++
				if c.Kind == constraint.MustLink {
					stray++
				}
			}
		}
	}
	return stray, among
}

// separatedWithout returns the pairs of clusters that have the fewest must-links among their constraints outside a fold
// and together half of the constraints between clusters. The share of a pair is shrunk toward that of all pairs, as if
// it had one constraint more.
func (s *Supervision) separatedWithout(fold int, labels []int32) map[[2]int32]bool {
	type counts struct {
		pair      [2]int32
		must, all int
		share     float64
	}
	byPair := map[[2]int32]*counts{}
	var pairs []*counts
	must, all := 0, 0
	for i, c := range s.Constraints {
		pair := clustersOf(c, labels)
		if pair[0] == pair[1] {
			continue
		}
		one := byPair[pair]
		if one == nil {
			one = &counts{pair: pair}
			byPair[pair] = one
			pairs = append(pairs, one)
		}
		if s.fold[i] == fold {
			continue
		}
		one.all++
		all++
		if c.Kind == constraint.MustLink {
			one.must++
			must++
		}
	}
	if all == 0 {
		return nil
	}
	for _, one := range pairs {
		one.share = (float64(one.must) + float64(must)/float64(all)) / float64(one.all+1)
	}
	slices.SortStableFunc(pairs, func(a, b *counts) int { return cmp.Compare(a.share, b.share) })
	separated, covered := map[[2]int32]bool{}, 0
	for i, one := range pairs {
		if 2*covered >= all && one.share > pairs[i-1].share {
			break
		}
		separated[one.pair] = true
		covered += one.all
	}
	return separated
}

// clustersOf returns the clusters of the two points of a constraint, the smaller one first.
func clustersOf(c constraint.Constraint, labels []int32) [2]int32 {
	a, b := labels[c.I], labels[c.J]
	return [2]int32{min(a, b), max(a, b)}
}
