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
	q := newSeedBeliefs(p.spec)
	if len(q.points) == 0 {
		return pairs
	}
	return append(pairs[:len(pairs):len(pairs)], p.seedPairs(q)...)
}

// seedPairs returns pairs of seeds whose weights are the beliefs 2 pi_i'pi_j - 1. If there are many seeds, each is
// linked to a few others in random order.
func (p *Problem) seedPairs(q seedBeliefs) []constraint.Pair {
	order := p.spec.Random(clustering.StreamSeedPairs).Perm(len(q.points))
	var pairs []constraint.Pair
	for a, b := range clustering.SomePairs(len(q.points), maxSeedPairs) {
		i, j := q.points[order[a]].Point, q.points[order[b]].Point
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
