// Package heldout divides the supervision of a job into folds and compares answers by the pairs that they were not
// shown. A fold of the constraints holds out pairs, and one of the seeds holds out points.
package heldout

import (
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// EnoughPairs is how many held-out pairs it takes to compare answers by folds.
const EnoughPairs = 50

// None is the fold of nothing: without it all supervision is shown.
const None = -1

// Supervision is the constraints and seeds of a job in folds, and the pairs that answers are compared by.
type Supervision struct {
	Constraints []constraint.Constraint // distinct
	Seeds       []Seed
	Pairs       []Pair
	// How many constraints follow from others, and how many contradict them.
	Checked, Contradictions int

	fold []int // of each constraint
}

// Seed is a point with its most likely label.
type Seed struct {
	Point, Label int32
	Chance       float64 // how likely the label is
	fold         int
}

// Pair is a pair that the answers of its fold are compared by. Of seeds, I is held out, and J is any other seed.
type Pair struct {
	I, J int32
	Must bool
	Fold int
}

// maxSeedPairs bounds how many pairs of seeds are compared in each fold: they grow with the square of the seeds.
const maxSeedPairs = 3000

// New divides supervision into folds at random, all of about the same size. A pair that is given twice is one
// constraint: it is in one fold, and does not vouch for itself.
func New(set *constraint.Set, seeds []constraint.Seed, k, folds int, rng *rand.Rand) *Supervision {
	s := &Supervision{fold: make([]int, set.Len())}
	for _, p := range set.Pairs() {
		s.Constraints = append(s.Constraints, p.Constraint())
	}
	for at, place := range rng.Perm(len(s.Constraints)) {
		s.fold[place] = at % folds
	}
	gathered := constraint.GatherSeeds(seeds)
	s.Seeds = make([]Seed, len(gathered))
	for at, place := range rng.Perm(len(gathered)) {
		given := gathered[place]
		best := 0
		for l, chance := range given.Chances {
			if chance > given.Chances[best] {
				best = l
			}
		}
		s.Seeds[place] = Seed{given.Point, given.Labels[best], given.Chances[best], at % folds}
	}
	for at, c := range s.Constraints {
		s.Pairs = append(s.Pairs, Pair{c.I, c.J, c.Kind == constraint.MustLink, s.fold[at]})
	}
	for fold := range folds {
		s.holdOutSeeds(fold)
	}
	// Seeds are pairs that cannot contradict each other, so that they vouch for nothing.
	s.Checked, _ = constraint.Checks(set.Points(), k, s.Constraints)
	_, s.Contradictions = constraint.Checks(set.Points(), k, s.Shown(None))
	return s
}

// holdOutSeeds adds the pairs of each seed of one fold with all other seeds, or with some of them, evenly spaced, where
// they are too many.
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
			a, b := s.Seeds[at], s.Seeds[(at+1+number*others/partners)%len(s.Seeds)]
			s.Pairs = append(s.Pairs, Pair{a.Point, b.Point, a.Label == b.Label, fold})
		}
	}
}

// ShownSeeds are the seeds outside a fold.
func (s *Supervision) ShownSeeds(without int) []Seed {
	return slices.DeleteFunc(slices.Clone(s.Seeds), func(given Seed) bool { return given.fold == without })
}

// Shown are the constraints outside a fold. Seeds become a must-link with the one before of the same label, and a
// cannot-link with the last one of every other label, from which all other pairs follow.
func (s *Supervision) Shown(without int) []constraint.Constraint {
	var shown []constraint.Constraint
	for at, c := range s.Constraints {
		if s.fold[at] != without {
			shown = append(shown, c)
		}
	}
	last := map[int32]int32{} // the last point of each label
	var labels []int32        // those met so far
	for _, given := range s.Seeds {
		if given.fold == without {
			continue
		}
		for _, label := range labels {
			kind := constraint.CannotLink
			if label == given.Label {
				kind = constraint.MustLink
			}
			shown = append(shown, constraint.Constraint{I: last[label], J: given.Point, Kind: kind, Weight: given.Chance, Weighted: true})
		}
		if _, known := last[given.Label]; !known {
			labels = append(labels, given.Label)
		}
		last[given.Label] = given.Point
	}
	return shown
}

// Spec is a job without the supervision of a fold. Constraints and seeds stay as they were given, for algorithms have
// weights and uses of their own for them.
func (s *Supervision) Spec(spec clustering.Spec, without int) clustering.Spec {
	heldOut := map[Pair]bool{}
	for at, c := range s.Constraints {
		if s.fold[at] == without {
			heldOut[Pair{I: c.I, J: c.J, Must: c.Kind == constraint.MustLink}] = true
		}
	}
	points := map[int32]bool{}
	for _, given := range s.Seeds {
		if given.fold == without {
			points[given.Point] = true
		}
	}
	spec.Constraints = slices.DeleteFunc(slices.Clone(spec.Constraints), func(c constraint.Constraint) bool {
		return heldOut[Pair{I: min(c.I, c.J), J: max(c.I, c.J), Must: c.Kind == constraint.MustLink}]
	})
	spec.Seeds = slices.DeleteFunc(slices.Clone(spec.Seeds), func(given constraint.Seed) bool { return points[given.Index] })
	return spec
}

// First is the supervision with the pairs of the first folds only, and the places of these among all pairs.
func (s *Supervision) First(folds int) (*Supervision, []int) {
	some := *s
	some.Pairs = nil
	var places []int
	for at, pair := range s.Pairs {
		if pair.Fold >= folds {
			continue
		}
		some.Pairs, places = append(some.Pairs, pair), append(places, at)
	}
	some.Constraints, some.fold = nil, nil
	for at, c := range s.Constraints {
		if s.fold[at] < folds {
			some.Constraints, some.fold = append(some.Constraints, c), append(some.fold, s.fold[at])
		}
	}
	return &some, places
}

// Kinds counts the held-out pairs of each kind.
func (s *Supervision) Kinds() (must, cannot int) {
	for _, pair := range s.Pairs {
		if pair.Must {
			must++
		} else {
			cannot++
		}
	}
	return must, cannot
}

// Right tells of every held-out pair whether labels have it right: those of its fold, or the same for all.
func (s *Supervision) Right(labels ...[]int32) []bool {
	right := make([]bool, len(s.Pairs))
	for at, pair := range s.Pairs {
		l := labels[pair.Fold%len(labels)]
		right[at] = (l[pair.I] == l[pair.J]) == pair.Must
	}
	return right
}

// Trial counts what a way has right without a fold, or over all folds.
func (s *Supervision) Trial(way clustering.Method, right []bool, folds, fold int) clustering.Trial {
	t := clustering.Trial{Method: way, Folds: folds}
	for at, pair := range s.Pairs {
		count, good := &t.CannotLinks, &t.CannotLinksRight
		if pair.Must {
			count, good = &t.MustLinks, &t.MustLinksRight
		}
		if fold == None || pair.Fold == fold {
			*count++
			if right[at] {
				*good++
			}
		}
	}
	if fold != None {
		t.Fold = fold + 1
	}
	return t
}
