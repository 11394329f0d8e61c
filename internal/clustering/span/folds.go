package span

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/kernel"
)

// fold is the links that are held out, and those that a fit to the others may know.
type fold struct{ held, known []int }

// allLinks is the fold that holds nothing out.
const allLinks = -1

// known are the links that a fit knows.
func (c *chooser) known(fold int) []int {
	if fold == allLinks {
		return firstOnes(len(c.all))
	}
	return c.folds[fold].known
}

// maxFolds is how many folds there are, where there are so many links.
const maxFolds = 5

// newFolds deals links out to folds, in random order. Where they are about a few points only, as those between labeled points
// are, the others imply a link that is held out, which then says nothing about points without links; there points
// are dealt out, and what is known has no link of them.
func newFolds(l *links, n int, rng *rand.Rand) []fold {
	if l.repeatPoints(n) {
		return foldsOfPoints(l, rng)
	}
	m := len(l.all)
	folds, of := make([]fold, min(maxFolds, m)), make([]int, m)
	for at, which := range rng.Perm(m) {
		of[which] = at % len(folds)
	}
	for which, own := range of {
		for f := range folds {
			if f == own {
				folds[f].held = append(folds[f].held, which)
			} else {
				folds[f].known = append(folds[f].known, which)
			}
		}
	}
	return folds
}

// repeatPoints tells whether links have less than half as many different points as m random pairs would,
// n (1 - exp(-2m/n)).
func (l *links) repeatPoints(n int) bool {
	expected := float64(n) * (1 - kernel.Exp(-2*float64(len(l.all))/float64(n)))
	return float64(len(l.points)) < expected/2
}

// foldsOfPoints holds out the links of some points, each link once: with one of its two points or the other in turn.
func foldsOfPoints(l *links, rng *rand.Rand) []fold {
	folds, of := make([]fold, min(maxFolds, len(l.points))), make([]int, len(l.points))
	for at, point := range rng.Perm(len(l.points)) {
		of[point] = at % len(folds)
	}
	for which, pair := range l.all {
		own := of[pair.i]
		if which%2 == 1 {
			own = of[pair.j]
		}
		for f := range folds {
			switch f {
			case own:
				folds[f].held = append(folds[f].held, which)
			case of[pair.i], of[pair.j]:
			default:
				folds[f].known = append(folds[f].known, which)
			}
		}
	}
	return folds
}

// firstOnes are 0..m-1.
func firstOnes(m int) []int {
	all := make([]int, m)
	for at := range all {
		all[at] = at
	}
	return all
}
