package auto

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
)

// supervision is the constraints of a job and the pairs that its seeds stand for, divided into folds: a fold of the
// constraints holds out pairs, and one of the seeds holds out points.
type supervision struct {
	constraints []constraint.Constraint
	fold        []int // of each constraint
	seeds       []seed
	held        []heldOut
	// How many constraints follow from others, and how many contradict them.
	checked, contradictions int
}

// seed is a point with its most likely label.
type seed struct {
	point, label int32
	chance       float64
	fold         int
}

// heldOut is a pair that the answers of its fold are compared by.
type heldOut struct {
	i, j int32
	must bool
	fold int
}

// maxSeedPairs bounds how many pairs of seeds are compared in each fold: they grow with the square of the seeds.
const maxSeedPairs = 3000

// newSupervision divides supervision into folds at random, all of about the same size. A pair that is given twice is one
// constraint: it is in one fold, and does not vouch for itself.
func newSupervision(set *constraint.Set, seeds []clustering.Seed, k, folds int, rng *rand.Rand) *supervision {
	s := &supervision{fold: make([]int, set.Len())}
	for _, p := range set.Pairs() {
		s.constraints = append(s.constraints, constraint.Constraint{I: p.I, J: p.J, Kind: p.Kind, Weight: p.Weight, Weighted: true})
	}
	for at, place := range rng.Perm(len(s.constraints)) {
		s.fold[place] = at % folds
	}
	gathered := clustering.GatherSeeds(seeds)
	s.seeds = make([]seed, len(gathered))
	for at, place := range rng.Perm(len(gathered)) {
		given := gathered[place]
		best := 0
		for l, chance := range given.Chances {
			if chance > given.Chances[best] {
				best = l
			}
		}
		s.seeds[place] = seed{given.Point, given.Labels[best], given.Chances[best], at % folds}
	}
	for at, c := range s.constraints {
		s.held = append(s.held, heldOut{c.I, c.J, c.Kind == constraint.MustLink, s.fold[at]})
	}
	for fold := range folds {
		s.holdOutSeeds(fold)
	}
	// Seeds are pairs that cannot contradict each other, so that they vouch for nothing.
	s.checked, _ = constraint.Checks(set.Points(), k, s.constraints)
	_, s.contradictions = constraint.Checks(set.Points(), k, s.shown(allShown))
	return s
}

// holdOutSeeds adds the pairs of the seeds of one fold, or of each seed and as many of those after it, in a circle,
// as the bound allows.
func (s *supervision) holdOutSeeds(fold int) {
	var own []seed
	for _, given := range s.seeds {
		if given.fold == fold {
			own = append(own, given)
		}
	}
	reach := len(own) / 2
	if len(own) > 0 {
		reach = min(reach, max(1, maxSeedPairs/len(own)))
	}
	for at, a := range own {
		for step := 1; step <= reach; step++ {
			b := own[(at+step)%len(own)]
			if 2*step == len(own) && at >= step {
				continue // the pair was met from its other side
			}
			s.held = append(s.held, heldOut{a.point, b.point, a.label == b.label, fold})
		}
	}
}

// shown are the constraints outside a fold, or with allShown all of them. Seeds become a must-link with the one before of
// the same label, and a cannot-link with the last one of every other label, from which all other pairs follow.
func (s *supervision) shown(without int) []constraint.Constraint {
	var shown []constraint.Constraint
	for at, c := range s.constraints {
		if s.fold[at] != without {
			shown = append(shown, c)
		}
	}
	last := map[int32]int32{} // the last point of each label
	var labels []int32        // those met so far
	for _, given := range s.seeds {
		if given.fold == without {
			continue
		}
		for _, label := range labels {
			kind := constraint.CannotLink
			if label == given.label {
				kind = constraint.MustLink
			}
			shown = append(shown, constraint.Constraint{I: last[label], J: given.point, Kind: kind, Weight: given.chance, Weighted: true})
		}
		if _, known := last[given.label]; !known {
			labels = append(labels, given.label)
		}
		last[given.label] = given.point
	}
	return shown
}

// kinds counts the held-out pairs of each kind.
func (s *supervision) kinds() (must, cannot int) {
	for _, pair := range s.held {
		if pair.must {
			must++
		} else {
			cannot++
		}
	}
	return must, cannot
}
