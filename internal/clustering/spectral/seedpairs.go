package spectral

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// maxSeedPairs is about how many pairs are made of seeds: each fit takes time for every pair, and a point that is linked
// to many others of its label is known as well as one that is linked to all.
const maxSeedPairs = 20_000

// allPairs are the constraints and, of the seeds, must-links between equal labels and cannot-links between others.
func (p *Problem) allPairs() []constraint.Pair {
	pairs := p.given.Pairs()
	seeds := constraint.GatherSeeds(p.spec.Seeds)
	if len(seeds) == 0 {
		return pairs
	}
	return append(pairs[:len(pairs):len(pairs)], p.seedPairs(seeds)...)
}

// seedPairs are pairs of seeds with what is believed of them, 2 pi_i'pi_j - 1, as weight. Of many seeds, in random order,
// each is linked to a few.
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
