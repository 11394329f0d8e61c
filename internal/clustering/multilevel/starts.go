package multilevel

import (
	"context"
	"math/rand/v2"
	"slices"
)

const (
	// maxStarts is how many starts grow regions on the coarsest graph, as long as they read no more than startWork
	// entries.
	maxStarts = 10
	startWork = 1 << 22
	// maxAgglomerated is the maximum number of entries for which agglomerate is tried too.
	maxAgglomerated = 1 << 18
)

// cluster refines several starts on the coarsest graph concurrently and returns the best.
func (r *refiner) cluster(ctx context.Context, g *Graph, balance float64, rng *rand.Rand) (*labeling, error) {
	var starts [][]int32
	if g.Entries() <= maxAgglomerated {
		start, err := agglomerate(ctx, g, r.k)
		if err != nil {
			return nil, err
		}
		starts = append(starts, start)
	}
	for range max(1, min(maxStarts, startWork/max(1, g.Entries()))) {
		starts = append(starts, grow(g, r.k, rng))
	}
	all := make([]*labeling, len(starts))
	err := r.pool.Run(ctx, len(starts), func(at int) error {
		own := newRefiner(r.k, 1)
		own.chainWork = r.chainWork
		all[at] = newLabeling(g, r.k, starts[at], balance)
		return own.improve(ctx, all[at])
	})
	if err != nil {
		return nil, err
	}
	best := all[0]
	for _, l := range all[1:] {
		if l.value() > best.value() {
			best = l
		}
	}
	return best, nil
}

// improve refines labels by moves of single vertices and then by chains.
func (r *refiner) improve(ctx context.Context, l *labeling) error {
	if err := r.refine(ctx, l); err != nil {
		return err
	}
	return r.chains(ctx, l)
}

// grow grows regions around k random vertices in turn. Vertices that no region reaches are assigned to the regions in
// turn.
func grow(g *Graph, k int, rng *rand.Rand) []int32 {
	n := g.Rows()
	labels := slices.Repeat([]int32{-1}, n)
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
