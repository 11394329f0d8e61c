package span

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// fold holds the held-out links, and those that a fit may use.
type fold struct{ held, known []int }

// allLinks is passed in place of a fold if nothing is held out.
const allLinks = -1

// known returns the links that a fit may use.
func (c *chooser) known(fold int) []int {
	if fold == allLinks {
		return choose.All[int](len(c.all))
	}
	return c.folds[fold].known
}

// maxFolds is the maximum number of folds.
const maxFolds = 5

// newFolds assigns links to folds at random. If the links cover few points, as links between labeled points do, the
// known links imply the held-out ones, which then say nothing about points without links. In that case it holds out
// points, and known links have none of them.
func newFolds(l *links, n int, rng *rand.Rand) []fold {
	if l.repeatPoints(n) {
		return foldsOfPoints(l, rng)
	}
	m := len(l.all)
	folds, foldOf := make([]fold, min(maxFolds, m)), make([]int, m)
	for i, which := range rng.Perm(m) {
		foldOf[which] = i % len(folds)
	}
	for which, own := range foldOf {
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

// repeatPoints reports whether the links have less than half as many distinct points as m random pairs would have, n (1
// - exp(-2m/n)).
func (l *links) repeatPoints(n int) bool {
	expected := float64(n) * (1 - elementary.Exp(-2*float64(len(l.all))/float64(n)))
	return float64(len(l.points)) < expected/2
}

// foldsOfPoints holds out the links of some points, each link once: with its first or its second point in turn.
func foldsOfPoints(l *links, rng *rand.Rand) []fold {
	folds, foldOf := make([]fold, min(maxFolds, len(l.points))), make([]int, len(l.points))
	for i, point := range rng.Perm(len(l.points)) {
		foldOf[point] = i % len(folds)
	}
	for which, pair := range l.all {
		own := foldOf[pair.i]
		if which%2 == 1 {
			own = foldOf[pair.j]
		}
		for f := range folds {
			switch f {
			case own:
				folds[f].held = append(folds[f].held, which)
			case foldOf[pair.i], foldOf[pair.j]:
			default:
				folds[f].known = append(folds[f].known, which)
			}
		}
	}
	return folds
}
