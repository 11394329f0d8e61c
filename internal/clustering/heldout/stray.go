package heldout

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

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
