package multilevel

import (
	"context"
	"math/rand/v2"
)

const (
	// maxStarts is how many labelings of the coarsest graph by growing regions are tried, where they read no more than
	// startWork entries.
	maxStarts = 10
	startWork = 1 << 22
	// maxAgglomerated is up to how many entries of the coarsest graph its vertices are merged one by one.
	maxAgglomerated = 1 << 18
)

// cluster finds labels of the coarsest graph: several starts are refined, side by side, and the best of them wins.
func (r *refiner) cluster(ctx context.Context, g *Graph, balance float64, rng *rand.Rand) (*labeling, error) {
	var starts [][]int32
	if g.Entries() <= maxAgglomerated {
		starts = append(starts, agglomerate(g, r.k))
	}
	for range max(1, min(maxStarts, startWork/max(1, g.Entries()))) {
		starts = append(starts, grow(g, r.k, rng))
	}
	all := make([]*labeling, len(starts))
	err := r.pool.Run(ctx, r.threads, len(starts), func(at int) error {
		own := newRefiner(r.k, 1)
		own.chainWork = r.chainWork
		all[at] = newLabeling(g, r.k, starts[at], balance)
		return own.improve(ctx, all[at])
	})
	if err != nil {
		return nil, err
	}
	var best *labeling
	for _, l := range all {
		if best == nil || l.value() > best.value() {
			best = l
		}
	}
	return best, nil
}

// improve refines labels as far as moves of single vertices go.
func (r *refiner) improve(ctx context.Context, l *labeling) error {
	if err := r.refine(ctx, l); err != nil {
		return err
	}
	return r.chains(ctx, l)
}

// grow makes regions grow around k random vertices, each in its turn. Vertices that none of them reaches join regions by
// turns.
func grow(g *Graph, k int, rng *rand.Rand) []int32 {
	n := g.Rows()
	labels := make([]int32, n)
	for v := range labels {
		labels[v] = -1
	}
	var queue []int32
	for c, v := range rng.Perm(n)[:min(k, n)] {
		labels[v] = int32(c)
		queue = append(queue, int32(v))
	}
	for at := 0; at < len(queue); at++ {
		neighbors, weights := g.row(queue[at])
		for place, u := range neighbors {
			if labels[u] < 0 && weights[place] > 0 {
				labels[u] = labels[queue[at]]
				queue = append(queue, u)
			}
		}
	}
	for v := range labels {
		if labels[v] < 0 {
			labels[v] = int32(v % k)
		}
	}
	return labels
}
