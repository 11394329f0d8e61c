package spectral

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// maxSeedPairs is the approximate number of pairs made from seeds. Each fit takes time for every pair, and a point
// linked to many others of its label is as well determined as one linked to all.
const maxSeedPairs = 20_000

// allPairs returns the constraints and, for the seeds, must-links between equal labels and cannot-links between
// different ones.
func (p *Problem) allPairs() []constraint.Pair {
	pairs := p.given.Pairs()
	seeds := constraint.GatherSeeds(p.spec.Seeds)
	if len(seeds) == 0 {
		return pairs
	}
	return append(pairs[:len(pairs):len(pairs)], p.seedPairs(seeds)...)
}

// seedPairs returns pairs of seeds whose weights are the beliefs 2 pi_i'pi_j - 1. If there are many seeds, each is
// linked to a few others in random order.
func (p *Problem) seedPairs(seeds []constraint.SeededPoint) []constraint.Pair {
	order := p.spec.Random(clustering.StreamSeedPairs).Perm(len(seeds))
	q := newLabelBeliefs(seeds, p.spec.K)
	var pairs []constraint.Pair
	for a, b := range clustering.SomePairs(len(seeds), maxSeedPairs) {
		i, j := seeds[order[a]].Point, seeds[order[b]].Point
		pair := constraint.Pair{I: min(i, j), J: max(i, j), Kind: constraint.MustLink, Weight: q.entry(i, j)}
		if pair.Weight < 0 {
			pair.Kind, pair.Weight = constraint.CannotLink, -pair.Weight
		}
		if pair.Weight > 0 {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}
